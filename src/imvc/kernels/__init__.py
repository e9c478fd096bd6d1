"""Pure mathematics: arrays in, arrays out."""
