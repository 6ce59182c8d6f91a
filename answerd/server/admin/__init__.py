"""The admin API's requests: a module for each group of paths, with the handlers and the table of their routes.

`answerd.server.admin_app` puts them together: it decides who may ask, and turns errors into responses.
"""
