"""The service: the only package that knows sockets, gevent, bottle and the clock.

Patch the standard library first (``gevent.monkey.patch_all``) and import `service` after that.
"""
