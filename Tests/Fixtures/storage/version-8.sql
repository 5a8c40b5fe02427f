-- Chat, who is kept out of rooms, addresses that are, doors, whose calls users do not want, and what operators have taken back. As the first program of this version wrote them.
PRAGMA application_id = 1380143956;
CREATE TABLE message (
  room TEXT NOT NULL, number INTEGER NOT NULL, client_id TEXT, delivered INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (room, number)
) WITHOUT ROWID;
CREATE TABLE record (
  number INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, call TEXT NOT NULL, ended_at INTEGER NOT NULL,
  unseen INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (user, call)
);
CREATE INDEX record_of_user ON record (user, number);
CREATE INDEX record_by_end ON record (ended_at);
CREATE TABLE ended_call (call TEXT PRIMARY KEY, ended_at INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX ended_call_by_end ON ended_call (ended_at);
CREATE TABLE running_call (call TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, endpoint TEXT NOT NULL, lane TEXT NOT NULL,
  part TEXT NOT NULL, body TEXT NOT NULL, expires_at INTEGER NOT NULL
);
CREATE TABLE ban (
  room TEXT NOT NULL, user TEXT NOT NULL, until INTEGER, by TEXT NOT NULL, PRIMARY KEY (room, user)
) WITHOUT ROWID;
CREATE TABLE door (
  room TEXT PRIMARY KEY, locked_by_operator INTEGER NOT NULL, door TEXT NOT NULL, chat_disabled INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE block (number INTEGER PRIMARY KEY, user TEXT NOT NULL, blocked TEXT NOT NULL, UNIQUE (user, blocked));
CREATE TABLE address_ban (
  room TEXT NOT NULL, address TEXT NOT NULL, user TEXT NOT NULL, until INTEGER NOT NULL, by TEXT NOT NULL,
  PRIMARY KEY (room, address, user)
) WITHOUT ROWID;
CREATE TABLE revoked_token (jti TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE narrowing (
  user TEXT NOT NULL, room TEXT NOT NULL, grants TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, room)
) WITHOUT ROWID;
INSERT INTO message VALUES ('demo', 4, NULL, 2,
  '{"msgId":"m4","room":"demo","ts":1763700000004,"from":"anna","displayName":"Anna","text":"hello"}');
INSERT INTO ban VALUES ('demo', 'carl', 1763703600000, 'anna');
INSERT INTO ban VALUES ('demo', 'dora', NULL, 'anna');
INSERT INTO address_ban VALUES ('', '2001:db8::/64', '', 1763703600000, '');
INSERT INTO address_ban VALUES ('demo', '203.0.113.7', 'carl', 1763703500000, 'anna');
INSERT INTO door VALUES ('demo', 0, 'lobby', 1);
INSERT INTO door VALUES ('hall', 1, 'open', 0);
INSERT INTO block VALUES (3, 'ben', 'anna');
INSERT INTO block VALUES (4, 'anna', 'carl');
INSERT INTO revoked_token VALUES ('t-1', 1763703600000);
INSERT INTO revoked_token VALUES ('t-2', 1763703500000);
INSERT INTO narrowing VALUES ('anna', '', 'join subscribe', 1763700000000);
INSERT INTO narrowing VALUES ('anna', 'demo', '', 1763700000001);
PRAGMA user_version = 8;
