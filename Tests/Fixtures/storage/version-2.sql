-- Chat, calls and messages for web servers. Bodies as the first program of this version wrote them.
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
INSERT INTO message VALUES ('call:0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1', 9, NULL, 1,
  '{"msgId":"m9","room":"call:0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1","ts":1763700050000,"from":"anna","displayName":"Anna","text":"hello"}');
INSERT INTO record VALUES (3, 'anna', '91c3ea55-0132-45ab-bf88-7fa5c3341fc6', 1763700020000, 0,
  '{"user":"anna","device":"phone","record":{"callId":"91c3ea55-0132-45ab-bf88-7fa5c3341fc6","direction":"out","result":"answered","elsewhere":false,"startedAt":1763700000000,"answeredAt":1763700005000,"endedAt":1763700020000,"durationMs":15000,"peers":["ben"],"kind":"one_to_one","media":"video","reason":"hangup"}}');
INSERT INTO record VALUES (4, 'ben', '91c3ea55-0132-45ab-bf88-7fa5c3341fc6', 1763700020000, 0,
  '{"user":"ben","device":"tablet","record":{"callId":"91c3ea55-0132-45ab-bf88-7fa5c3341fc6","direction":"in","result":"answered","elsewhere":false,"startedAt":1763700000000,"answeredAt":1763700005000,"endedAt":1763700020000,"durationMs":15000,"peers":["anna"],"kind":"one_to_one","media":"video","reason":"hangup"}}');
INSERT INTO record VALUES (7, 'ben', '5f0c3a8e-6d0b-4f5e-9d2b-0e7a3c1d9b42', 1763700040000, 1,
  '{"user":"ben","record":{"callId":"5f0c3a8e-6d0b-4f5e-9d2b-0e7a3c1d9b42","direction":"in","result":"missed","why":"no_answer","elsewhere":false,"startedAt":1763700030000,"endedAt":1763700040000,"durationMs":0,"peers":["carl"],"kind":"one_to_many","media":"audio","reason":"no_answer"}}');
INSERT INTO ended_call VALUES ('91c3ea55-0132-45ab-bf88-7fa5c3341fc6', 1763700020000,
  '{"call":{"callId":"91c3ea55-0132-45ab-bf88-7fa5c3341fc6","room":"call:91c3ea55-0132-45ab-bf88-7fa5c3341fc6","kind":"one_to_one","media":"video","answerPolicy":"first_wins","rejectPolicy":"any_ends","busyPolicy":"reject","state":"ended","rev":6,"caller":"anna","members":[{"user":"anna","displayName":"Anna","state":"left","reason":"hangup","media":"video","joinedAt":1763700000000,"leftAt":1763700020000},{"user":"ben","displayName":"Ben","state":"left","reason":"hangup","media":"video","joinedAt":1763700005000,"leftAt":1763700020000}],"extra":{"topic":"lunch"},"createdAt":1763700000000,"startedAt":1763700006000,"endedAt":1763700020000,"reason":"hangup","by":"anna"},"clientCallId":"mine-1"}');
INSERT INTO running_call VALUES ('0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1',
  '{"call":{"callId":"0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1","room":"call:0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1","kind":"group","media":"audio","answerPolicy":"everyone","rejectPolicy":"ignore","busyPolicy":"ring","state":"active","rev":9,"caller":"anna","members":[{"user":"anna","displayName":"Anna","state":"joined","media":"audio","joinedAt":1763700041000},{"user":"ben","displayName":"Ben","state":"reconnecting","media":"audio","joinedAt":1763700044000},{"user":"carl","state":"inviting","invitedBy":"ben"}],"createdAt":1763700041000,"startedAt":1763700041000,"expiresAt":1763700080000,"remainingMs":30000},"answeredAt":1763700044000,"push":{"title":"Anna"},"clientCallId":"mine-2","members":[{"user":"anna","isOriginal":false,"actorName":"phone"},{"user":"ben","answeredAt":1763700044000,"isOriginal":true,"actorName":"tablet"},{"user":"carl","isOriginal":false,"ring":{"from":"ben","inProgress":true,"isWaiting":false,"push":{"title":"Join us"},"startedAt":1763700050000,"expiresAt":1763700080000,"isPushed":true}}]}');
INSERT INTO outbox VALUES (5, 'd-5', 'events', '0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1', 'plain', '{"type":"call.invited"}', 1763786400000);
INSERT INTO outbox VALUES (6, 'd-6', 'push', '0c1ab7a0-52a5-4e5c-8d8e-35c1d0a7b8f1 carl', 'ring', '{"type":"ring"}', 1763700080000);
PRAGMA user_version = 2;
