"""The admin API: `answerd.server.admin.app` decides who may ask and turns errors into responses; each other module has
the handlers of a group of paths."""
