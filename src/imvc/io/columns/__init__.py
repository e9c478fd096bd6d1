"""Columns of tables: what kind each is, and how it becomes numbers.

`_classify` says how every column is read: what was asked for (`_options`,
`_asked_kinds`), else what its type or its text tells (`_text_kinds`, with `_numbers`,
`_dates` and `_scales`). The answer is a `ColumnCode` (`_code`), by which `_encode`
turns the rows of a fit, and new ones, into numbers. All but `_options` need pyarrow.
"""
