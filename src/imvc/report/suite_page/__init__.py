"""Tables, figures and one page of recorded runs; alone here to know `experiments`."""
