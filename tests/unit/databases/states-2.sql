BEGIN TRANSACTION;
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
INSERT INTO "install_events" VALUES(1,0,1,1.79530452078380584716e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(2,0,1,1.79530452078719067574e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(3,0,1,1795304520.79114,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(4,0,1,1.79530452079204773906e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(5,0,1,1.79530452079272246366e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(6,0,1,1795304520.79333,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(7,0,1,1.79530452079389977451e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(8,0,1,1795304520.79469,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(2,1,2,1.79530452079543399812e+09,'installed','message=said+by+machine+2','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B32');
INSERT INTO "install_events" VALUES(3,1,2,1.79530452080704092977e+09,'failed','message=said+by+machine+3','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B33');
INSERT INTO "install_events" VALUES(4,1,2,1.79530452081023836133e+09,'copied','message=said+by+machine+4','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B34');
INSERT INTO "install_events" VALUES(5,200,2,1.79530452081560349458e+09,'progress','message=said+by+machine+5','127.0.0.1',1,X'6D6573736167653D736169642B62792B6D616368696E652B35');
INSERT INTO "install_events" VALUES(6,1,2,1.79530452201924276348e+09,'given','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(6,2,3,1.79530452322126030922e+09,'refused','group "lab" (ks)','127.0.0.1',1,NULL);
INSERT INTO "install_events" VALUES(7,1,2,1.79530452723022532464e+09,'disarmed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(8,1,2,1.79530452862212538717e+09,'armed','','command line',1,NULL);
INSERT INTO "install_events" VALUES(9,0,1,1.79530453020996022227e+09,'armed','','command line',1,NULL);
CREATE TABLE install_revisions (revision BIGINT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE install_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO "install_settings" VALUES('revision','10');
INSERT INTO "install_settings" VALUES('key','833ec01b970340a65c40a15cd1c258aedf625a5239f650ed1184dfb16105b8e8');
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
INSERT INTO "installs" VALUES(1,'web-01','web01',1,'installing',1.79530452078380584716e+09,0,0,1,'{"group \"lab\" (ks)":1795304520.7838058}',1.79530452078380584716e+09,NULL,NULL,'{"web01":"web-01","525400000001":"52:54:00:00:00:01"}','lab',1,0,1,NULL);
INSERT INTO "installs" VALUES(2,'web-02','web02',1,'installed',1.79530452079543399812e+09,0,0,1,'{"group \"lab\" (ks)":1795304520.7871907}',1.79530452079543399812e+09,'message=said+by+machine+2',NULL,'{"web02":"web-02","525400000002":"52:54:00:00:00:02"}','lab',2,0,1,NULL);
INSERT INTO "installs" VALUES(3,'52:54:00:00:00:03','525400000003',1,'failed',1.79530452080704092977e+09,0,0,1,'{"group \"lab\" (ks)":1795304520.79114}',1.79530452080704092977e+09,'message=said+by+machine+3',NULL,'{"525400000003":"52:54:00:00:00:03"}','lab',2,0,2,NULL);
INSERT INTO "installs" VALUES(4,'52:54:00:00:00:04','525400000004',1,'copied',1.79530452081023836133e+09,0,0,1,'{"group \"lab\" (ks)":1795304520.7920477}',1.79530452081023836133e+09,'message=said+by+machine+4',NULL,'{"525400000004":"52:54:00:00:00:04"}','lab',2,0,3,NULL);
INSERT INTO "installs" VALUES(5,'52:54:00:00:00:05','525400000005',1,'installing',1.79530452079272246366e+09,0,0,1,'{"group \"lab\" (ks)":1795304520.7927225}',1.79530452081560349458e+09,'message=said+by+machine+5',NULL,'{"525400000005":"52:54:00:00:00:05"}','lab',1,1,4,NULL);
INSERT INTO "installs" VALUES(6,'52:54:00:00:00:06','525400000006',1,'exhausted',1.79530452322126030922e+09,0,0,2,'{"group \"lab\" (ks)":1795304522.0192428}',1.79530452201924276348e+09,NULL,NULL,'{"525400000006":"52:54:00:00:00:06"}','lab',3,0,6,NULL);
INSERT INTO "installs" VALUES(7,'52:54:00:00:00:07','525400000007',1,'installed',1.79530452723022532464e+09,0,1,1,'{"group \"lab\" (ks)":1795304520.7938998}',1.79530452079389977451e+09,NULL,NULL,'{"525400000007":"52:54:00:00:00:07"}','lab',2,0,7,NULL);
INSERT INTO "installs" VALUES(8,'52:54:00:00:00:08','525400000008',2,'armed',1.79530452862212538717e+09,1,0,0,'{}',1795304520.79469,NULL,NULL,'{"525400000008":"52:54:00:00:00:08"}','lab',2,0,8,NULL);
INSERT INTO "installs" VALUES(9,'52:54:00:00:00:09','525400000009',2,'armed',1.79530453020996022227e+09,1,0,0,'{}',0.0,NULL,NULL,'{"525400000009":"52:54:00:00:00:09"}',NULL,1,0,9,NULL);
CREATE TABLE received_messages (source TEXT PRIMARY KEY, number BIGINT NOT NULL);
CREATE TABLE unknown_machines (
         identity TEXT PRIMARY KEY,
         machine TEXT NOT NULL,
         first REAL NOT NULL,
         last REAL NOT NULL,
         asked INTEGER NOT NULL,
         facts TEXT NOT NULL);
INSERT INTO "unknown_machines" VALUES('lost1','LOST1',1.79530453063145065302e+09,1.79530453063145065302e+09,1,'{"path":["pve"],"file":["pve"],"segment":["pve"],"mac":["02:00:00:00:00:aa"],"serial":["LOST1"],"peer":["127.0.0.1"]}');
INSERT INTO "unknown_machines" VALUES('00005e005301','00:00:5e:00:53:01',1.79530453063885021207e+09,1.79530453063885021207e+09,1,'{"path":["xml"],"file":["xml"],"segment":["xml"],"mac":["00:00:5e:00:53:01"],"peer":["127.0.0.1"]}');
CREATE INDEX installs_by_revision ON installs (revision);
CREATE INDEX forgotten_by_revision ON forgotten_installs (revision);
CREATE INDEX unknown_by_time ON unknown_machines (last);
COMMIT;
PRAGMA user_version = 2;
