"""The core: which documents answer a request, laid over one another and filled. Pure functions over a catalogue."""
