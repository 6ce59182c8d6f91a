"""The page of access: who has a token, what the roles may do, and the secrets.

Rules: docs/console.md#roles, docs/secrets.md#from-the-console.
"""

from __future__ import annotations

from answerd.console.backend import Backend
from answerd.console.editing import NotSaved
from answerd.console.page_request import PageReply, PageRequest, redirect
from answerd.console.rendering import link, page
from answerd.server.roles import MAY
from answerd.server.threads import in_thread
from answerd.store.secrets import SecretRefused, names_of, why_not_writable, write_secret

HERE = "/console/access"


class AccessPages:
    """The page of access, and its forms."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def show(self, request: PageRequest) -> PageReply:
        """Return who has a token, what the roles may do, and the names of the secrets; and the form that was sent, with
        why it was not carried out."""
        secrets, refusal = self._backend.secrets, request.refusal
        message = ""
        if refusal is not None:
            message = refusal.reason if refusal.is_resumed else f"Not written: {refusal.reason}"
        elif request.get("written"):
            message = f"The secret {request.get('written')} is written. It is in force within a second."
        body = page(
            "access",
            request=request,
            tokens=self._backend.access(),
            may=MAY,
            secrets=names_of(secrets),
            why_not=in_thread(why_not_writable, secrets),
            message=message,
            failed=refusal is not None,
        )
        return PageReply(body)

    def change(self, request: PageRequest) -> PageReply:
        """Write a secret; it is shown to nobody."""
        machine, name = request.field("machine").strip(), request.field("secret").strip()
        value = request.field("value").replace("\r\n", "\n")
        try:
            place = in_thread(write_secret, self._backend.secrets, machine, name, value)
        except SecretRefused as error:
            raise NotSaved(str(error), status=400) from None
        self._backend.log(f"console: {request.who}, {request.peer}, wrote the secret {place}")
        return redirect(link(HERE, written=place))
