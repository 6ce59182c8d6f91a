"""Single writes for tests: the program itself changes many documents at once, under the write guard."""

from __future__ import annotations

from answerd.documents import Key, RawDocument
from answerd.store import Store, StoredDocument, Transaction
from answerd.store.files import FileStore


def put(target: Store | Transaction, key: Key, text: str) -> StoredDocument:
    """Store a document in place of the one of its identity and format, durably where ``target`` is a store."""
    if isinstance(target, FileStore):
        target.put(key, text)
        return StoredDocument(key, text.encode(), 0)
    if not isinstance(target, Transaction):
        with target.writing() as transaction:
            stored = put(transaction, key, text)
            transaction.commit()
        return stored
    target.write([RawDocument(key, text)])
    found = target.find(key)
    assert found is not None
    return found


def delete(target: Store | Transaction, key: Key) -> None:
    """Remove a document, durably where ``target`` is a store. Raises KeyError when there is none."""
    if isinstance(target, FileStore):
        sources = [name for name, raw in target._files.contents() if raw.key == key]
        if not sources:
            raise KeyError(key)
        for source in sources:
            (target.directory / source).unlink()
    elif not isinstance(target, Transaction):
        with target.writing() as transaction:
            delete(transaction, key)
            transaction.commit()
    elif not target.write([], [key]).removed:
        raise KeyError(key)
