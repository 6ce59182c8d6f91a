"""Inventories: CSV text, its rows, and what each row says of one machine (docs/inventory.md).

Text in, rows out. Knows names and identities; no documents, requests, files or databases.
"""
