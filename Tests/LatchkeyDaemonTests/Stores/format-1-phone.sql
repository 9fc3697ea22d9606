-- Format 1: a phone's, at the end of the story days-away, as of 3bcf4f5.
PRAGMA application_id = 1280001369;
PRAGMA user_version = 1;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
CREATE TABLE home (value TEXT NOT NULL);
CREATE TABLE record (kind TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, name))
  WITHOUT ROWID;
INSERT INTO grdb_migrations VALUES('1: records');
INSERT INTO home VALUES('HOME');
INSERT INTO record VALUES('app', 'org.latchkey.agent', CAST('{"app":{"_0":{"bundleIdentifier":"org.latchkey.agent","launches":2,"process":{"boot":"3b1f0c52-6f0e-4c7a-9a53-0d6c1f2e8b47","processIdentifier":20534,"startTicks":1520905},"quitByUser":false,"state":"suspended"}}}' AS BLOB));
INSERT INTO record VALUES('manager', 'org.latchkey.agent'||char(31)||'central'||char(31)||'=org.latchkey.agent.central', CAST('{"manager":{"_0":{"key":{"app":"org.latchkey.agent","number":0,"restoreIdentifier":"org.latchkey.agent.central","role":"central"},"subscribers":[]}}}' AS BLOB));
INSERT INTO record VALUES('peer', 'E0418D94-0421-8C0F-9D5A-AA7D4D27947E', CAST('{"peer":{"_0":{"address":{"bits":50528107279171,"kind":"public"},"identifier":"E0418D94-0421-8C0F-9D5A-AA7D4D27947E","name":"door","services":[{"high":12765160026035274048,"low":12082386824191868805}],"wasRequested":true}}}' AS BLOB));
INSERT INTO record VALUES('peripheral', 'org.latchkey.agent'||char(31)||'central'||char(31)||'=org.latchkey.agent.central'||char(31)||'E0418D94-0421-8C0F-9D5A-AA7D4D27947E', CAST('{"peripheral":{"_0":{"isWanted":true,"manager":{"app":"org.latchkey.agent","number":0,"restoreIdentifier":"org.latchkey.agent.central","role":"central"},"options":{"enableAutoReconnect":false,"notifyOnConnection":false,"notifyOnDisconnection":false,"notifyOnNotification":false,"startDelaySeconds":0},"peer":"E0418D94-0421-8C0F-9D5A-AA7D4D27947E","services":[{"characteristics":[{"handle":257,"isNotifying":true,"properties":18,"uuid":{"high":3711402725088512539,"low":10968684754887914745}},{"handle":260,"isNotifying":false,"properties":8,"uuid":{"high":10506694568460436035,"low":13090054407538429672}},{"handle":262,"isNotifying":true,"properties":16,"uuid":{"high":15280699165382689263,"low":10566092386582703062}}],"handle":256,"isPrimary":true,"uuid":{"high":12765160026035274048,"low":12082386824191868805}}],"told":2}}}' AS BLOB));
INSERT INTO record VALUES('settings', '', CAST('{"settings":{"_0":{"bluetoothOn":true,"salt":1852516153912612044}}}' AS BLOB));
