"""The core: find the documents that answer a request, merge them and fill their placeholders. Pure functions over a
catalogue."""
