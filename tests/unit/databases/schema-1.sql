PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE changes (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         at TEXT NOT NULL,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         format TEXT NOT NULL,
         text_before TEXT,
         text_after TEXT,
         peer TEXT);
INSERT INTO "changes" VALUES(1,'2026-11-21T23:41:00.108Z','group','rack-a','toml',NULL,'# the rack
[global]
keyboard = "de"
','127.0.0.1');
INSERT INTO "changes" VALUES(2,'2026-11-21T23:41:00.143Z','group','debian','ipxe',NULL,'#!ipxe
kernel linux
','127.0.0.1');
INSERT INTO "changes" VALUES(3,'2026-11-21T23:41:00.162Z','default','','ks',NULL,'# default
lang C
','127.0.0.1');
INSERT INTO "changes" VALUES(4,'2026-11-21T23:41:00.174Z','machine','98:FA:9B:50:D8:10','toml',NULL,'extends = "rack-a"
[global]
fqdn = "nøde.example.com"
','127.0.0.1');
INSERT INTO "changes" VALUES(5,'2026-11-21T23:41:00.203Z','machine','98:FA:9B:50:D8:10','yaml',NULL,'#cloud-config
hostname: node1
','127.0.0.1');
INSERT INTO "changes" VALUES(6,'2026-11-21T23:41:00.221Z','machine','7ABC123','xml',NULL,'<?xml version="1.0"?>
<profile/>
','127.0.0.1');
INSERT INTO "changes" VALUES(7,'2026-11-21T23:41:00.241Z','default','','ks','# default
lang C
','# default, changed
lang de
','127.0.0.1');
INSERT INTO "changes" VALUES(8,'2026-11-21T23:41:00.257Z','machine','gone','ks',NULL,'lang C
','127.0.0.1');
INSERT INTO "changes" VALUES(9,'2026-11-21T23:41:00.289Z','machine','gone','ks','lang C
',NULL,'127.0.0.1');
CREATE TABLE documents (
         id INTEGER PRIMARY KEY,
         kind TEXT NOT NULL CHECK (kind IN ('machine', 'group', 'default')),
         identifier TEXT NOT NULL,
         identity TEXT NOT NULL,
         format TEXT NOT NULL,
         text TEXT NOT NULL,
         revision INTEGER NOT NULL DEFAULT 0,
         UNIQUE (kind, identifier, format),
         UNIQUE (kind, identity, format));
INSERT INTO "documents" VALUES(1,'group','rack-a','racka','toml','# the rack
[global]
keyboard = "de"
',1);
INSERT INTO "documents" VALUES(2,'group','debian','debian','ipxe','#!ipxe
kernel linux
',2);
INSERT INTO "documents" VALUES(3,'default','','','ks','# default, changed
lang de
',7);
INSERT INTO "documents" VALUES(4,'machine','98:FA:9B:50:D8:10','98fa9b50d810','toml','extends = "rack-a"
[global]
fqdn = "nøde.example.com"
',4);
INSERT INTO "documents" VALUES(5,'machine','98:FA:9B:50:D8:10','98fa9b50d810','yaml','#cloud-config
hostname: node1
',5);
INSERT INTO "documents" VALUES(6,'machine','7ABC123','7abc123','xml','<?xml version="1.0"?>
<profile/>
',6);
CREATE INDEX documents_by_revision ON documents (revision);
CREATE TRIGGER document_inserted AFTER INSERT ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.kind, NEW.identifier, NEW.format, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END;
CREATE TRIGGER document_updated AFTER UPDATE OF kind, identifier, format, text ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_before)
           SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), OLD.kind, OLD.identifier, OLD.format, OLD.text
           WHERE (OLD.kind, OLD.identifier, OLD.format) <> (NEW.kind, NEW.identifier, NEW.format);
         INSERT INTO changes (at, kind, identifier, format, text_before, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.kind, NEW.identifier, NEW.format, OLD.text, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END;
CREATE TRIGGER document_deleted AFTER DELETE ON documents BEGIN
         INSERT INTO changes (at, kind, identifier, format, text_before)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), OLD.kind, OLD.identifier, OLD.format, OLD.text);
       END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',9);
COMMIT;
