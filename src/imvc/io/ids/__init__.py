"""Ids of samples: which column holds them, and which ids of two files are the same.

`_choose` decides for all files together (`_names` and `_candidates` say what a column
looks like, `_contest` which one wins); `_match` finds ids that are written differently
(`_loose_key`, `_affixes`); `_id_map` renames by a table.
"""
