-- The same with rooms that were made while the server ran. As the first program of this version wrote them.
PRAGMA application_id = 1380143956;
CREATE TABLE ended_call (call TEXT PRIMARY KEY, ended_at INTEGER NOT NULL, body TEXT NOT NULL, realm TEXT NOT NULL DEFAULT 'default');
CREATE INDEX ended_call_by_end ON ended_call (ended_at);
CREATE TABLE running_call (call TEXT PRIMARY KEY, body TEXT NOT NULL, realm TEXT NOT NULL DEFAULT 'default');
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, endpoint TEXT NOT NULL, lane TEXT NOT NULL,
  part TEXT NOT NULL, body TEXT NOT NULL, expires_at INTEGER NOT NULL
, realm TEXT NOT NULL DEFAULT 'default');
CREATE TABLE message (
  realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, number INTEGER NOT NULL, client_id TEXT,
  delivered INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (realm, room, number)
) WITHOUT ROWID;
CREATE TABLE record (
  number INTEGER PRIMARY KEY AUTOINCREMENT, realm TEXT NOT NULL DEFAULT 'default', user TEXT NOT NULL,
  call TEXT NOT NULL, ended_at INTEGER NOT NULL, unseen INTEGER NOT NULL, body TEXT NOT NULL,
  UNIQUE (realm, user, call)
);
CREATE INDEX record_of_user ON record (realm, user, number);
CREATE INDEX record_by_end ON record (ended_at);
CREATE TABLE ban (
  realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, user TEXT NOT NULL, until INTEGER, by TEXT NOT NULL,
  PRIMARY KEY (realm, room, user)
) WITHOUT ROWID;
CREATE TABLE door (
  realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, locked_by_operator INTEGER NOT NULL,
  door TEXT NOT NULL, chat_disabled INTEGER NOT NULL, PRIMARY KEY (realm, room)
) WITHOUT ROWID;
CREATE TABLE block (
  number INTEGER PRIMARY KEY, realm TEXT NOT NULL DEFAULT 'default', user TEXT NOT NULL, blocked TEXT NOT NULL,
  UNIQUE (realm, user, blocked)
);
CREATE TABLE address_ban (
  realm TEXT NOT NULL DEFAULT 'default', room TEXT NOT NULL, address TEXT NOT NULL, user TEXT NOT NULL,
  until INTEGER NOT NULL, by TEXT NOT NULL, PRIMARY KEY (realm, room, address, user)
) WITHOUT ROWID;
CREATE TABLE revoked_token (
  realm TEXT NOT NULL DEFAULT 'default', jti TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (realm, jti)
) WITHOUT ROWID;
CREATE TABLE narrowing (
  realm TEXT NOT NULL DEFAULT 'default', user TEXT NOT NULL, room TEXT NOT NULL, grants TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (realm, user, room)
) WITHOUT ROWID;
INSERT INTO message VALUES ('default', 'demo', 4, NULL, 2,
  '{"msgId":"m4","room":"demo","ts":1763700000004,"from":"anna","displayName":"Anna","text":"hello"}');
INSERT INTO message VALUES ('clinic', 'demo', 5, NULL, 1,
  '{"msgId":"m5","room":"demo","ts":1763700000005,"from":"anna","displayName":"Anna","text":"how are you?"}');
INSERT INTO ban VALUES ('default', 'demo', 'carl', 1763703600000, 'anna');
INSERT INTO ban VALUES ('clinic', 'demo', 'carl', NULL, 'ben');
INSERT INTO address_ban VALUES ('clinic', '', '2001:db8::/64', '', 1763703600000, '');
INSERT INTO door VALUES ('default', 'demo', 0, 'lobby', 1);
INSERT INTO door VALUES ('clinic', 'demo', 1, 'open', 0);
INSERT INTO block VALUES (3, 'default', 'ben', 'anna');
INSERT INTO block VALUES (4, 'clinic', 'ben', 'carl');
INSERT INTO revoked_token VALUES ('default', 't-1', 1763703600000);
INSERT INTO revoked_token VALUES ('clinic', 't-1', 1763703700000);
INSERT INTO narrowing VALUES ('clinic', 'anna', '', 'join subscribe', 1763700000000);
CREATE TABLE event_series (
  realm TEXT PRIMARY KEY, last INTEGER NOT NULL, size INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE event (
  realm TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, lane TEXT NOT NULL, at INTEGER NOT NULL,
  size INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (realm, number)
);
CREATE TABLE waiting_event (
  realm TEXT NOT NULL, number INTEGER NOT NULL, lane TEXT NOT NULL, PRIMARY KEY (realm, number)
) WITHOUT ROWID;
CREATE INDEX waiting_event_of_lane ON waiting_event (realm, lane, number);
CREATE TABLE lost_events (
  realm TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (realm, first)
) WITHOUT ROWID;
CREATE TABLE dropped_event (
  realm TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (realm, number)
) WITHOUT ROWID;
INSERT INTO event VALUES ('clinic', 1, 'd-1', 'demo', 1763700000000, 94, '{"id":"d-1","number":1,"type":"room.opened","at":1763700000000,"room":"demo","realm":"clinic"}');
INSERT INTO event VALUES ('clinic', 2, 'd-2', 'demo', 1763700000001, 108, '{"id":"d-2","number":2,"type":"room.joined","at":1763700000001,"room":"demo","user":"anna","realm":"clinic"}');
INSERT INTO event VALUES ('clinic', 4, 'd-4', 'demo', 1763700000003, 122, '{"id":"d-4","number":4,"type":"room.left","at":1763700000003,"room":"demo","user":"anna","reason":"left","realm":"clinic"}');
INSERT INTO waiting_event VALUES ('clinic', 4, 'demo');
INSERT INTO event_series VALUES ('clinic', 4, 324);
INSERT INTO lost_events VALUES ('clinic', 3, 3, 'l-1');
INSERT INTO dropped_event VALUES ('clinic', 2, 'd-2');
CREATE TABLE room (
  realm TEXT NOT NULL, room TEXT NOT NULL, tag TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (realm, room)
) WITHOUT ROWID;
INSERT INTO room VALUES ('default', 'standup', '0123456789abcdef', '{"kind":"group","videoLimit":4,"audioLimit":4}');
INSERT INTO room VALUES ('clinic', 'ward', 'fedcba9876543210', '{"kind":"gone"}');
CREATE TABLE process (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL);
INSERT INTO process VALUES (1, 41);
PRAGMA user_version = 12;
