PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE changes (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         at TEXT NOT NULL,
         kind TEXT NOT NULL,
         identifier TEXT NOT NULL,
         format TEXT NOT NULL,
         text_before TEXT,
         text_after TEXT,
         peer TEXT, token TEXT NOT NULL DEFAULT '', author TEXT, note TEXT);
INSERT INTO "changes" VALUES(1,'2026-11-21T23:41:46.502Z','group','rack-a','toml',NULL,'# the rack
[global]
keyboard = "de"
','127.0.0.1','f42a474cb9519f02',NULL,NULL);
INSERT INTO "changes" VALUES(2,'2026-11-21T23:41:46.516Z','group','debian','ipxe',NULL,'#!ipxe
kernel linux
','127.0.0.1','52026fa7e1cc3c1d',NULL,NULL);
INSERT INTO "changes" VALUES(3,'2026-11-21T23:41:46.532Z','default','','ks',NULL,'# default
lang C
','127.0.0.1','184e5ef732318b76',NULL,NULL);
INSERT INTO "changes" VALUES(4,'2026-11-21T23:41:46.539Z','machine','98:FA:9B:50:D8:10','toml',NULL,'extends = "rack-a"
[global]
fqdn = "nøde.example.com"
','127.0.0.1','ceaee7dd65ffb71d',NULL,NULL);
INSERT INTO "changes" VALUES(5,'2026-11-21T23:41:46.547Z','machine','98:FA:9B:50:D8:10','yaml',NULL,'#cloud-config
hostname: node1
','127.0.0.1','290193e97ff5a741',NULL,NULL);
INSERT INTO "changes" VALUES(6,'2026-11-21T23:41:46.554Z','machine','7ABC123','xml',NULL,'<?xml version="1.0"?>
<profile/>
','127.0.0.1','48dae134885a4cc5',NULL,NULL);
INSERT INTO "changes" VALUES(7,'2026-11-21T23:41:46.560Z','default','','ks','# default
lang C
','# default, changed
lang de
','127.0.0.1','6baaa1b7975c64d4',NULL,NULL);
INSERT INTO "changes" VALUES(8,'2026-11-21T23:41:46.566Z','machine','gone','ks',NULL,'lang C
','127.0.0.1','43f0f7374e411b2d',NULL,NULL);
INSERT INTO "changes" VALUES(9,'2026-11-21T23:41:46.573Z','machine','gone','ks','lang C
',NULL,'127.0.0.1','0c8beb9fedcaf01a',NULL,NULL);
INSERT INTO "changes" VALUES(10,'2026-11-21T23:41:47.841Z','inventory','default','csv',NULL,'id,mac
web-01,52:54:00:00:00:01
web-02, 52:54:00:00:00:02
',NULL,'2e642fe40e0fc188',NULL,NULL);
CREATE TABLE documents (
         id INTEGER PRIMARY KEY,
         kind TEXT NOT NULL CHECK (kind IN ('machine', 'group', 'default', 'inventory')),
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
INSERT INTO "documents" VALUES(7,'inventory','default','default','csv','id,mac
web-01,52:54:00:00:00:01
web-02, 52:54:00:00:00:02
',10);
CREATE INDEX documents_by_revision ON documents (revision);
CREATE INDEX changes_by_document ON changes (kind, identifier, format);
CREATE TRIGGER document_inserted AFTER INSERT ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                   NEW.kind, NEW.identifier, NEW.format, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END;
CREATE TRIGGER document_updated AFTER UPDATE OF kind, identifier, format, text ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_before)
           SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                  OLD.kind, OLD.identifier, OLD.format, OLD.text
           WHERE (OLD.kind, OLD.identifier, OLD.format) <> (NEW.kind, NEW.identifier, NEW.format);
         INSERT INTO changes (at, token, kind, identifier, format, text_before, text_after)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                   NEW.kind, NEW.identifier, NEW.format, OLD.text, NEW.text);
         UPDATE documents SET revision = last_insert_rowid() WHERE id = NEW.id;
       END;
CREATE TRIGGER document_deleted AFTER DELETE ON documents BEGIN
         INSERT INTO changes (at, token, kind, identifier, format, text_before)
           VALUES (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lower(hex(randomblob(8))),
                   OLD.kind, OLD.identifier, OLD.format, OLD.text);
       END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',10);
COMMIT;
