-- Chat alone.
PRAGMA application_id = 1380143956;
CREATE TABLE message (
  room TEXT NOT NULL, number INTEGER NOT NULL, client_id TEXT, delivered INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (room, number)
) WITHOUT ROWID;
INSERT INTO message VALUES ('demo', 4, NULL, 2,
  '{"msgId":"m4","room":"demo","ts":1763700000004,"from":"anna","displayName":"Anna","text":"hello"}');
INSERT INTO message VALUES ('demo', 7, 'c-1', 1,
  '{"msgId":"m7","room":"demo","ts":1763700000007,"from":"ben","displayName":"Ben","to":["anna"],"text":"just you \u2603"}');
INSERT INTO message VALUES ('hall', 5, NULL, 0, '{"msgId":"m5","room":"hall","ts":1763700000005,"from":"carl","text":"nobody here?"}');
PRAGMA user_version = 1;
