CREATE TABLE public.changes (
    id bigint NOT NULL,
    at text NOT NULL,
    kind text NOT NULL,
    identifier text NOT NULL,
    format text NOT NULL,
    text_before text,
    text_after text,
    peer text,
    token text DEFAULT ''::text NOT NULL,
    author text,
    note text
);
CREATE TABLE public.counter (
    id integer NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT counter_id_check CHECK ((id = 1))
);
CREATE TABLE public.documents (
    id bigint NOT NULL,
    kind text NOT NULL,
    identifier text NOT NULL,
    identity text NOT NULL,
    format text NOT NULL,
    text text NOT NULL,
    revision bigint DEFAULT 0 NOT NULL
);
CREATE SEQUENCE public.documents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.documents_id_seq OWNED BY public.documents.id;
CREATE TABLE public.forgotten_installs (
    name_identity text NOT NULL,
    attempt bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE public.install_events (
    install bigint NOT NULL,
    place bigint NOT NULL,
    number bigint NOT NULL,
    at double precision NOT NULL,
    what text NOT NULL,
    detail text NOT NULL,
    origin text NOT NULL,
    counts bigint NOT NULL,
    body bytea
);
CREATE TABLE public.install_revisions (
    revision bigint NOT NULL,
    token text NOT NULL
);
CREATE TABLE public.install_settings (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.installs (
    id bigint NOT NULL,
    name text NOT NULL,
    name_identity text NOT NULL,
    attempt bigint NOT NULL,
    state text NOT NULL,
    since double precision NOT NULL,
    was_armed bigint NOT NULL,
    by_operator bigint NOT NULL,
    starts bigint NOT NULL,
    given text NOT NULL,
    heard double precision NOT NULL,
    message text,
    percent double precision,
    identities text NOT NULL,
    group_name text,
    events bigint NOT NULL,
    news bigint NOT NULL,
    revision bigint NOT NULL,
    known text
);
CREATE SEQUENCE public.installs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.installs_id_seq OWNED BY public.installs.id;
CREATE TABLE public.received_messages (
    source text NOT NULL,
    number bigint NOT NULL
);
CREATE TABLE public.schema_version (
    id integer NOT NULL,
    version integer NOT NULL
);
CREATE TABLE public.unknown_machines (
    identity text NOT NULL,
    machine text NOT NULL,
    first double precision NOT NULL,
    last double precision NOT NULL,
    asked bigint NOT NULL,
    facts text NOT NULL
);
ALTER TABLE ONLY public.documents ALTER COLUMN id SET DEFAULT nextval('public.documents_id_seq'::regclass);
ALTER TABLE ONLY public.installs ALTER COLUMN id SET DEFAULT nextval('public.installs_id_seq'::regclass);
INSERT INTO public.changes VALUES (1, '2026-11-24T03:00:11.245Z', 'group', 'rack-a', 'toml', NULL, '# the rack
[global]
keyboard = "de"
', '127.0.0.1', 'fbcf35d1bde2cc11', NULL, NULL);
INSERT INTO public.changes VALUES (2, '2026-11-24T03:00:11.281Z', 'group', 'debian', 'ipxe', NULL, '#!ipxe
kernel linux
', '127.0.0.1', '49953d9231da0906', NULL, NULL);
INSERT INTO public.changes VALUES (3, '2026-11-24T03:00:11.308Z', 'default', '', 'ks', NULL, '# default
lang C
', '127.0.0.1', '549b7573ae893b57', NULL, NULL);
INSERT INTO public.changes VALUES (4, '2026-11-24T03:00:11.344Z', 'machine', '98:FA:9B:50:D8:10', 'toml', NULL, 'extends = "rack-a"
[global]
fqdn = "nøde.example.com"
', '127.0.0.1', '3339446ee2e3c8d5', NULL, NULL);
INSERT INTO public.changes VALUES (5, '2026-11-24T03:00:11.377Z', 'machine', '98:FA:9B:50:D8:10', 'yaml', NULL, '#cloud-config
hostname: node1
', '127.0.0.1', 'bf7b856fccd2c7b6', NULL, NULL);
INSERT INTO public.changes VALUES (6, '2026-11-24T03:00:11.403Z', 'machine', '7ABC123', 'xml', NULL, '<?xml version="1.0"?>
<profile/>
', '127.0.0.1', '7862d90e2803ccab', NULL, NULL);
INSERT INTO public.changes VALUES (7, '2026-11-24T03:00:11.437Z', 'default', '', 'ks', '# default
lang C
', '# default, changed
lang de
', '127.0.0.1', '8cabe65fb1a76896', NULL, NULL);
INSERT INTO public.changes VALUES (8, '2026-11-24T03:00:11.469Z', 'machine', 'go-ne', 'ks', NULL, 'lang C
', '127.0.0.1', '26a65a472b9f7a94', NULL, NULL);
INSERT INTO public.changes VALUES (9, '2026-11-24T03:00:11.500Z', 'machine', 'go-ne', 'ks', 'lang C
', NULL, '127.0.0.1', '867613dccdf5aae3', NULL, NULL);
INSERT INTO public.changes VALUES (10, '2026-11-24T03:00:11.528Z', 'machine', '192.168.1.11', 'ks', NULL, 'lang C
', '127.0.0.1', 'e72bb5428ed6e74b', NULL, NULL);
INSERT INTO public.changes VALUES (11, '2026-11-24T03:00:11.569Z', 'group', 'lab', 'ks', NULL, '# answer: once
# answer: match mac=52:54:00:*
echo {{ report }}
', '127.0.0.1', '106d5401b182aa9e', NULL, NULL);
INSERT INTO public.changes VALUES (12, '2026-11-24T03:00:11.606Z', 'inventory', 'default', 'csv', NULL, 'id,mac
web-01,52:54:00:00:00:01
web-02, 52:54:00:00:00:02
', '127.0.0.1', 'f25f25ef10af879c', NULL, NULL);
INSERT INTO public.counter VALUES (1, 12);
INSERT INTO public.documents VALUES (1, 'group', 'rack-a', 'racka', 'toml', '# the rack
[global]
keyboard = "de"
', 1);
INSERT INTO public.documents VALUES (2, 'group', 'debian', 'debian', 'ipxe', '#!ipxe
kernel linux
', 2);
INSERT INTO public.documents VALUES (4, 'machine', '98:FA:9B:50:D8:10', '98fa9b50d810', 'toml', 'extends = "rack-a"
[global]
fqdn = "nøde.example.com"
', 4);
INSERT INTO public.documents VALUES (5, 'machine', '98:FA:9B:50:D8:10', '98fa9b50d810', 'yaml', '#cloud-config
hostname: node1
', 5);
INSERT INTO public.documents VALUES (6, 'machine', '7ABC123', '7abc123', 'xml', '<?xml version="1.0"?>
<profile/>
', 6);
INSERT INTO public.documents VALUES (3, 'default', '', '', 'ks', '# default, changed
lang de
', 7);
INSERT INTO public.documents VALUES (8, 'machine', '192.168.1.11', '192.168.1.11', 'ks', 'lang C
', 10);
INSERT INTO public.documents VALUES (9, 'group', 'lab', 'lab', 'ks', '# answer: once
# answer: match mac=52:54:00:*
echo {{ report }}
', 11);
INSERT INTO public.documents VALUES (10, 'inventory', 'default', 'default', 'csv', 'id,mac
web-01,52:54:00:00:00:01
web-02, 52:54:00:00:00:02
', 12);
INSERT INTO public.install_events VALUES (1, 0, 1, 1795489212.6426184, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (2, 0, 1, 1795489212.6525407, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (3, 0, 1, 1795489212.6567411, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (4, 0, 1, 1795489212.6574821, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (5, 0, 1, 1795489212.6581593, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (6, 0, 1, 1795489212.6587496, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (7, 0, 1, 1795489212.6595328, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (8, 0, 1, 1795489212.6603498, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (2, 1, 2, 1795489212.6612935, 'installed', 'message=said+by+machine+2', '127.0.0.1', 1, '\x6d6573736167653d736169642b62792b6d616368696e652b32');
INSERT INTO public.install_events VALUES (3, 1, 2, 1795489212.6729817, 'failed', 'message=said+by+machine+3', '127.0.0.1', 1, '\x6d6573736167653d736169642b62792b6d616368696e652b33');
INSERT INTO public.install_events VALUES (4, 1, 2, 1795489212.675445, 'copied', 'message=said+by+machine+4', '127.0.0.1', 1, '\x6d6573736167653d736169642b62792b6d616368696e652b34');
INSERT INTO public.install_events VALUES (5, 200, 2, 1795489212.6776035, 'progress', 'message=said+by+machine+5', '127.0.0.1', 1, '\x6d6573736167653d736169642b62792b6d616368696e652b35');
INSERT INTO public.install_events VALUES (6, 1, 2, 1795489214.180327, 'given', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (6, 2, 3, 1795489215.6816866, 'refused', 'group "lab" (ks)', '127.0.0.1', 1, NULL);
INSERT INTO public.install_events VALUES (7, 1, 2, 1795489219.522709, 'disarmed', '', 'command line', 1, NULL);
INSERT INTO public.install_events VALUES (8, 1, 2, 1795489220.081843, 'armed', '', 'command line', 1, NULL);
INSERT INTO public.install_events VALUES (13, 0, 1, 1795489220.6234066, 'armed', '', 'command line', 1, NULL);
INSERT INTO public.install_revisions VALUES (1, 'ac85edf7104e5f79');
INSERT INTO public.install_revisions VALUES (2, '8801a7a0594cc122');
INSERT INTO public.install_revisions VALUES (3, 'd60ecc04c18683ca');
INSERT INTO public.install_revisions VALUES (4, '41d68280660ca852');
INSERT INTO public.install_revisions VALUES (5, '5338f91b7e6283e4');
INSERT INTO public.install_revisions VALUES (6, '559e9a0b3ff508d9');
INSERT INTO public.install_settings VALUES ('key', 'a63a59b2d590aa08fd98db3577e44df3fd56d7deacd1dca6f567d2215dcefee6');
INSERT INTO public.install_settings VALUES ('revision', '6');
INSERT INTO public.installs VALUES (1, 'web-01', 'web01', 1, 'installing', 1795489212.6426184, 0, 0, 1, '{"group \"lab\" (ks)":1795489212.6426184}', 1795489212.6426184, NULL, NULL, '{"web01":"web-01","525400000001":"52:54:00:00:00:01"}', 'lab', 1, 0, 1, '{"attempt":1,"heard":1795489212.6426184,"name":"web-01","starts":{"1":{"at":0.0,"began":1795489212.6426184,"given":{"group \"lab\" (ks)":1795489212.6426184},"word":"installing"}}}');
INSERT INTO public.installs VALUES (2, 'web-02', 'web02', 1, 'installed', 1795489212.6612935, 0, 0, 1, '{"group \"lab\" (ks)":1795489212.6525407}', 1795489212.6612935, 'message=said+by+machine+2', NULL, '{"web02":"web-02","525400000002":"52:54:00:00:00:02"}', 'lab', 2, 0, 1, '{"attempt":1,"heard":1795489212.6612935,"name":"web-02","starts":{"1":{"at":1795489212.6612935,"began":1795489212.6525407,"given":{"group \"lab\" (ks)":1795489212.6525407},"said":["installed",1795489212.6612935,"message=said+by+machine+2",-1.0],"word":"installed"}}}');
INSERT INTO public.installs VALUES (3, '52:54:00:00:00:03', '525400000003', 1, 'failed', 1795489212.6729817, 0, 0, 1, '{"group \"lab\" (ks)":1795489212.6567411}', 1795489212.6729817, 'message=said+by+machine+3', NULL, '{"525400000003":"52:54:00:00:00:03"}', 'lab', 2, 0, 1, '{"attempt":1,"heard":1795489212.6729817,"name":"52:54:00:00:00:03","starts":{"1":{"at":1795489212.6729817,"began":1795489212.6567411,"given":{"group \"lab\" (ks)":1795489212.6567411},"said":["failed",1795489212.6729817,"message=said+by+machine+3",-1.0],"word":"failed"}}}');
INSERT INTO public.installs VALUES (4, '52:54:00:00:00:04', '525400000004', 1, 'copied', 1795489212.675445, 0, 0, 1, '{"group \"lab\" (ks)":1795489212.6574821}', 1795489212.675445, 'message=said+by+machine+4', NULL, '{"525400000004":"52:54:00:00:00:04"}', 'lab', 2, 0, 1, '{"attempt":1,"heard":1795489212.675445,"name":"52:54:00:00:00:04","starts":{"1":{"at":1795489212.675445,"began":1795489212.6574821,"given":{"group \"lab\" (ks)":1795489212.6574821},"said":["copied",1795489212.675445,"message=said+by+machine+4",-1.0],"word":"copied"}}}');
INSERT INTO public.installs VALUES (5, '52:54:00:00:00:05', '525400000005', 1, 'installing', 1795489212.6581593, 0, 0, 1, '{"group \"lab\" (ks)":1795489212.6581593}', 1795489212.6776035, 'message=said+by+machine+5', NULL, '{"525400000005":"52:54:00:00:00:05"}', 'lab', 1, 1, 1, '{"attempt":1,"heard":1795489212.6776035,"name":"52:54:00:00:00:05","starts":{"1":{"at":0.0,"began":1795489212.6581593,"given":{"group \"lab\" (ks)":1795489212.6581593},"said":["installing",1795489212.6776035,"message=said+by+machine+5",-1.0],"word":"installing"}}}');
INSERT INTO public.installs VALUES (6, '52:54:00:00:00:06', '525400000006', 1, 'exhausted', 1795489215.6816866, 0, 0, 2, '{"group \"lab\" (ks)":1795489214.180327}', 1795489214.180327, NULL, NULL, '{"525400000006":"52:54:00:00:00:06"}', 'lab', 3, 0, 3, '{"attempt":1,"heard":1795489214.180327,"name":"52:54:00:00:00:06","refused":1795489215.6816866,"starts":{"1":{"at":0.0,"began":1795489212.6587496,"given":{"group \"lab\" (ks)":1795489212.6587496},"word":"installing"},"2":{"at":0.0,"began":1795489214.180327,"given":{"group \"lab\" (ks)":1795489214.180327},"word":"installing"}}}');
INSERT INTO public.installs VALUES (7, '52:54:00:00:00:07', '525400000007', 1, 'installed', 1795489219.522709, 0, 1, 1, '{"group \"lab\" (ks)":1795489212.6595328}', 1795489212.6595328, NULL, NULL, '{"525400000007":"52:54:00:00:00:07"}', 'lab', 2, 0, 4, '{"attempt":1,"disarmed":1795489219.522709,"heard":1795489212.6595328,"name":"52:54:00:00:00:07","starts":{"1":{"at":0.0,"began":1795489212.6595328,"given":{"group \"lab\" (ks)":1795489212.6595328},"word":"installing"}}}');
INSERT INTO public.installs VALUES (8, '52:54:00:00:00:08', '525400000008', 2, 'armed', 1795489220.081843, 1, 0, 0, '{}', 1795489212.6603498, NULL, NULL, '{"525400000008":"52:54:00:00:00:08"}', 'lab', 2, 0, 5, '{"armed":true,"attempt":2,"began":1795489220.081843,"heard":1795489212.6603498,"name":"52:54:00:00:00:08"}');
INSERT INTO public.installs VALUES (13, '52:54:00:00:00:09', '525400000009', 2, 'armed', 1795489220.6234066, 1, 0, 0, '{}', 0, NULL, NULL, '{"525400000009":"52:54:00:00:00:09"}', NULL, 1, 0, 6, '{"armed":true,"attempt":2,"began":1795489220.6234066,"heard":0.0,"name":"52:54:00:00:00:09"}');
INSERT INTO public.received_messages VALUES ('77ad3a0cf4d1573e29c8f2d04882669a', 16);
INSERT INTO public.schema_version VALUES (1, 5);
INSERT INTO public.unknown_machines VALUES ('00005e005301', '00:00:5e:00:53:01', 1795489216.8843217, 1795489216.8843217, 1, '{"path":["xml"],"file":["xml"],"segment":["xml"],"mac":["00:00:5e:00:53:01"],"peer":["127.0.0.1"]}');
INSERT INTO public.unknown_machines VALUES ('lost1', 'LOST1', 1795489216.887412, 1795489216.887412, 1, '{"path":["pve"],"file":["pve"],"segment":["pve"],"mac":["02:00:00:00:00:aa"],"serial":["LOST1"],"peer":["127.0.0.1"]}');
SELECT pg_catalog.setval('public.documents_id_seq', 10, true);
SELECT pg_catalog.setval('public.installs_id_seq', 13, true);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_kind_identifier_format_key UNIQUE (kind, identifier, format);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_kind_identity_format_key UNIQUE (kind, identity, format);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.forgotten_installs
    ADD CONSTRAINT forgotten_installs_pkey PRIMARY KEY (name_identity);
ALTER TABLE ONLY public.install_events
    ADD CONSTRAINT install_events_pkey PRIMARY KEY (install, place);
ALTER TABLE ONLY public.install_revisions
    ADD CONSTRAINT install_revisions_pkey PRIMARY KEY (revision);
ALTER TABLE ONLY public.install_settings
    ADD CONSTRAINT install_settings_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.installs
    ADD CONSTRAINT installs_name_identity_key UNIQUE (name_identity);
ALTER TABLE ONLY public.installs
    ADD CONSTRAINT installs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.received_messages
    ADD CONSTRAINT received_messages_pkey PRIMARY KEY (source);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.unknown_machines
    ADD CONSTRAINT unknown_machines_pkey PRIMARY KEY (identity);
CREATE INDEX changes_by_document ON public.changes USING btree (kind, identifier, format);
CREATE INDEX changes_by_name ON public.changes USING btree (translate(identifier, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:0'::text, 'abcdefghijklmnopqrstuvwxyz'::text));
CREATE INDEX documents_by_revision ON public.documents USING btree (revision);
CREATE INDEX forgotten_by_revision ON public.forgotten_installs USING btree (revision);
CREATE INDEX installs_by_revision ON public.installs USING btree (revision);
CREATE INDEX unknown_by_time ON public.unknown_machines USING btree (last);
