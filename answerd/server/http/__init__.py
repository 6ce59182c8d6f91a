"""HTTP/1.1 between a listening socket and a WSGI application: gevent's `WSGIServer` and `Pool`, with a
handler of our own.

Read `server` first (accepting, places, deadlines, the end), then `handler` (one connection from its accept to its
close); `parser`, `bodies` and `responses` are what they use. Nothing here knows what an answer is.
"""
