"""The service: the only rooms that know sockets, gevent, bottle and the clock.

Whoever runs it patches the standard library first (``gevent.monkey.patch_all``) and imports `service` after that.
"""
