"""What is a secret and what is not, as tables: each line is one fact, with its source as the last text.

The functions that read them are in `answerd.answers.secret_names`, `secret_forms` and `command_words`. What is found by
these tables is hidden as well as they go, which is no promise (docs/secrets.md).
"""
