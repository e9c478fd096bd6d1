"""The leaderboard: all methods on all datasets, as one page, CSV and Markdown."""
