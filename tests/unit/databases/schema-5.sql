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
INSERT INTO "changes" VALUES(1,'2026-11-21T23:42:49.410Z','group','rack-a','toml',NULL,'# the rack
[global]
keyboard = "de"
','127.0.0.1','ae4a713edd038865',NULL,NULL);
INSERT INTO "changes" VALUES(2,'2026-11-21T23:42:49.453Z','group','debian','ipxe',NULL,'#!ipxe
kernel linux
','127.0.0.1','7c0c2018ab975f85',NULL,NULL);
INSERT INTO "changes" VALUES(3,'2026-11-21T23:42:49.464Z','default','','ks',NULL,'# default
lang C
','127.0.0.1','70c0838d32fc1671',NULL,NULL);
INSERT INTO "changes" VALUES(4,'2026-11-21T23:42:49.472Z','machine','98:FA:9B:50:D8:10','toml',NULL,'extends = "rack-a"
[global]
fqdn = "nøde.example.com"
','127.0.0.1','b09d3af69de1b80e',NULL,NULL);
INSERT INTO "changes" VALUES(5,'2026-11-21T23:42:49.484Z','machine','98:FA:9B:50:D8:10','yaml',NULL,'#cloud-config
hostname: node1
','127.0.0.1','31d5d6b448d44273',NULL,NULL);
INSERT INTO "changes" VALUES(6,'2026-11-21T23:42:49.495Z','machine','7ABC123','xml',NULL,'<?xml version="1.0"?>
<profile/>
','127.0.0.1','0bf9f558fcfc3cd8',NULL,NULL);
INSERT INTO "changes" VALUES(7,'2026-11-21T23:42:49.503Z','default','','ks','# default
lang C
','# default, changed
lang de
','127.0.0.1','fd3b3b41afb3ebe2',NULL,NULL);
INSERT INTO "changes" VALUES(8,'2026-11-21T23:42:49.510Z','machine','gone','ks',NULL,'lang C
','127.0.0.1','0e3753c721a9a6da',NULL,NULL);
INSERT INTO "changes" VALUES(9,'2026-11-21T23:42:49.517Z','machine','gone','ks','lang C
',NULL,'127.0.0.1','a1d0c2c01da5b4b1',NULL,NULL);
INSERT INTO "changes" VALUES(10,'2026-11-21T23:42:51.051Z','inventory','default','csv',NULL,'id,mac
web-01,52:54:00:00:00:01
web-02, 52:54:00:00:00:02
',NULL,'b1d8936b8c642680',NULL,NULL);
INSERT INTO "changes" VALUES(11,'2026-11-21T23:42:51.490Z','group','lab','ks',NULL,'# answer: once
# answer: match mac=52:54:00:*
echo {{ report }}
','127.0.0.1','305f72f61a2af7cc',NULL,NULL);
INSERT INTO "changes" VALUES(12,'2026-11-22T09:03:33.428Z','machine','192.168.1.11','ks',NULL,'lang C
',NULL,'b61414da0085edb9',NULL,NULL);
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
INSERT INTO "documents" VALUES(8,'group','lab','lab','ks','# answer: once
# answer: match mac=52:54:00:*
echo {{ report }}
',11);
INSERT INTO "documents" VALUES(9,'machine','192.168.1.11','192.168.1.11','ks','lang C
',12);
CREATE TABLE forgotten_installs (
         name_identity TEXT PRIMARY KEY,
         attempt INTEGER NOT NULL,
         revision INTEGER NOT NULL);
CREATE TABLE install_events (
         install INTEGER NOT NULL,
         place INTEGER NOT NULL,
         number INTEGER NOT NULL,
         at REAL NOT NULL,
         what TEXT NOT NULL,
         detail TEXT NOT NULL,
         origin TEXT NOT NULL,
         counts INTEGER NOT NULL,
         body BLOB,
         PRIMARY KEY (install, place));
INSERT INTO "install_events" VALUES(1,0,1,1.79530457150071573262e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(2,0,1,1.79530457150311470036e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(3,0,1,1.79530457150416302685e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(4,0,1,1.79530457150490641588e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(5,0,1,1.79530457150566768653e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(6,0,1,1.79530457150646305082e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(7,0,1,1.79530457150711750986e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(8,0,1,1.79530457150785088533e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(2,1,2,1.79530457151208376878e+09,'installed','message=said+by+machine+2','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B32');
INSERT INTO "install_events" VALUES(3,1,2,1.79530457153178095823e+09,'failed','message=said+by+machine+3','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B33');
INSERT INTO "install_events" VALUES(4,1,2,1.79530457153828287126e+09,'copied','message=said+by+machine+4','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B34');
INSERT INTO "install_events" VALUES(5,200,2,1.79530457155399036407e+09,'progress','message=said+by+machine+5','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B35');
INSERT INTO "install_events" VALUES(6,1,2,1.79530457278737783435e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(6,2,3,1.79530457399500703811e+09,'refused','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(7,1,2,1.79530457886510229109e+09,'disarmed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(8,1,2,1.79530458011209368709e+09,'armed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(9,0,1,1.79530458180566358569e+09,'armed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(9,1,2,1.79533821512365412715e+09,'disarmed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(5,1,3,1795338217.35654,'armed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(9,2,3,1.79533821831982088094e+09,'armed','','command line',1,NULL);
CREATE TABLE install_revisions (revision BIGINT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE install_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO "install_settings" VALUES('revision','13');
INSERT INTO "install_settings" VALUES('key','ae27196ddbbe7d220ea61383a79ef15713bb948077d0c0139feef2ee8e7d5b90');
CREATE TABLE installs (
         id INTEGER PRIMARY KEY,
         name TEXT NOT NULL,
         name_identity TEXT NOT NULL UNIQUE,
         attempt INTEGER NOT NULL,
         state TEXT NOT NULL,
         since REAL NOT NULL,
         was_armed INTEGER NOT NULL,
         by_operator INTEGER NOT NULL,
         starts INTEGER NOT NULL,
         given TEXT NOT NULL,
         heard REAL NOT NULL,
         message TEXT,
         percent REAL,
         identities TEXT NOT NULL,
         group_name TEXT,
         events INTEGER NOT NULL,
         news INTEGER NOT NULL,
         revision INTEGER NOT NULL, known TEXT);
INSERT INTO "installs" VALUES(1,'web-01','web01',1,'installing',1.79530457150071573262e+09,0,0,1,'{"group \"lab\" (ks)":1795304571.5007157}',1.79530457150071573262e+09,NULL,NULL,'{"web01":"web-01","525400000001":"52:54:00:00:00:01"}','lab',1,0,1,NULL);
INSERT INTO "installs" VALUES(2,'web-02','web02',1,'installed',1.79530457151208376878e+09,0,0,1,'{"group \"lab\" (ks)":1795304571.5031147}',1.79530457151208376878e+09,'message=said+by+machine+2',NULL,'{"web02":"web-02","525400000002":"52:54:00:00:00:02"}','lab',2,0,1,NULL);
INSERT INTO "installs" VALUES(3,'52:54:00:00:00:03','525400000003',1,'failed',1.79530457153178095823e+09,0,0,1,'{"group \"lab\" (ks)":1795304571.504163}',1.79530457153178095823e+09,'message=said+by+machine+3',NULL,'{"525400000003":"52:54:00:00:00:03"}','lab',2,0,2,NULL);
INSERT INTO "installs" VALUES(4,'52:54:00:00:00:04','525400000004',1,'copied',1.79530457153828287126e+09,0,0,1,'{"group \"lab\" (ks)":1795304571.5049064}',1.79530457153828287126e+09,'message=said+by+machine+4',NULL,'{"525400000004":"52:54:00:00:00:04"}','lab',2,0,3,NULL);
INSERT INTO "installs" VALUES(5,'52:54:00:00:00:05','525400000005',2,'armed',1795338217.35654,1,0,0,'{}',1.79530457155399036407e+09,NULL,NULL,'{"525400000005":"52:54:00:00:00:05"}','lab',2,1,12,NULL);
INSERT INTO "installs" VALUES(6,'52:54:00:00:00:06','525400000006',1,'exhausted',1.79530457399500703811e+09,0,0,2,'{"group \"lab\" (ks)":1795304572.7873778}',1.79530457278737783435e+09,NULL,NULL,'{"525400000006":"52:54:00:00:00:06"}','lab',3,0,6,NULL);
INSERT INTO "installs" VALUES(7,'52:54:00:00:00:07','525400000007',1,'installed',1.79530457886510229109e+09,0,1,1,'{"group \"lab\" (ks)":1795304571.5071175}',1.79530457150711750986e+09,NULL,NULL,'{"525400000007":"52:54:00:00:00:07"}','lab',2,0,7,NULL);
INSERT INTO "installs" VALUES(8,'52:54:00:00:00:08','525400000008',2,'armed',1.79530458011209368709e+09,1,0,0,'{}',1.79530457150785088533e+09,NULL,NULL,'{"525400000008":"52:54:00:00:00:08"}','lab',2,0,8,NULL);
INSERT INTO "installs" VALUES(9,'52:54:00:00:00:09','525400000009',3,'armed',1.79533821831982088094e+09,1,0,0,'{}',0.0,NULL,NULL,'{"525400000009":"52:54:00:00:00:09"}',NULL,3,0,13,NULL);
CREATE TABLE received_messages (source TEXT PRIMARY KEY, number BIGINT NOT NULL);
CREATE TABLE unknown_machines (
         identity TEXT PRIMARY KEY,
         machine TEXT NOT NULL,
         first REAL NOT NULL,
         last REAL NOT NULL,
         asked INTEGER NOT NULL,
         facts TEXT NOT NULL);
INSERT INTO "unknown_machines" VALUES('lost1','LOST1',1.79530458220750141146e+09,1.79530458220750141146e+09,1,'{"path":["pve"],"file":["pve"],"segment":["pve"],"mac":["02:00:00:00:00:aa"],"serial":["LOST1"],"peer":["127.0.0.1"]}');
INSERT INTO "unknown_machines" VALUES('00005e005301','00:00:5e:00:53:01',1.7953045822084345818e+09,1.7953045822084345818e+09,1,'{"path":["xml"],"file":["xml"],"segment":["xml"],"mac":["00:00:5e:00:53:01"],"peer":["127.0.0.1"]}');
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
CREATE INDEX installs_by_revision ON installs (revision);
CREATE INDEX forgotten_by_revision ON forgotten_installs (revision);
CREATE INDEX unknown_by_time ON unknown_machines (last);
CREATE INDEX changes_by_name ON changes ((replace(replace(replace(replace(replace(lower(identifier), '-', ''), '_', ''), '.', ''), ':', ''), '0', '')));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',12);
COMMIT;
PRAGMA user_version = 5;
