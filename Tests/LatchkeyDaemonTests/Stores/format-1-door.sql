-- Format 1: a door's, at the end of the story days-away, as of 3bcf4f5.
PRAGMA application_id = 1280001369;
PRAGMA user_version = 1;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
CREATE TABLE home (value TEXT NOT NULL);
CREATE TABLE record (kind TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, name))
  WITHOUT ROWID;
INSERT INTO grdb_migrations VALUES('1: records');
INSERT INTO home VALUES('HOME');
INSERT INTO record VALUES('app', 'org.latchkey.lock', CAST('{"app":{"_0":{"bundleIdentifier":"org.latchkey.lock","launches":2,"process":{"boot":"3b1f0c52-6f0e-4c7a-9a53-0d6c1f2e8b47","processIdentifier":20527,"startTicks":1520883},"quitByUser":false,"state":"foreground"}}}' AS BLOB));
INSERT INTO record VALUES('manager', 'org.latchkey.lock'||char(31)||'peripheral'||char(31)||'=org.latchkey.lock.peripheral', CAST('{"manager":{"_0":{"advertisement":{"serviceUUIDs":[{"high":12765160026035274048,"low":12082386824191868805}]},"key":{"app":"org.latchkey.lock","number":0,"restoreIdentifier":"org.latchkey.lock.peripheral","role":"peripheral"},"subscribers":["1FA33D56-7A40-40CE-96FC-8912623691D2",["35D4DE52-1103-8607-8058-AAC382A05FEC"],"A2A38D44-E0BC-48C4-A98F-EE22F571A25E",["35D4DE52-1103-8607-8058-AAC382A05FEC"]]}}}' AS BLOB));
INSERT INTO record VALUES('peer', '35D4DE52-1103-8607-8058-AAC382A05FEC', CAST('{"peer":{"_0":{"address":{"bits":45662871523119,"kind":"public"},"identifier":"35D4DE52-1103-8607-8058-AAC382A05FEC","name":"phone","wasRequested":false}}}' AS BLOB));
INSERT INTO record VALUES('service', '54FAF6C7-DC24-4905-B2B7-37782234471F', CAST('{"service":{"_0":{"definition":{"characteristics":[{"descriptors":[],"identifier":"A2A38D44-E0BC-48C4-A98F-EE22F571A25E","permissions":4,"properties":258,"uuid":{"high":3711402725088512539,"low":10968684754887914745}},{"descriptors":[],"identifier":"2C599D2C-6197-4B9B-894C-6EECC9C9ED9F","permissions":8,"properties":8,"uuid":{"high":10506694568460436035,"low":13090054407538429672}},{"descriptors":[],"identifier":"1FA33D56-7A40-40CE-96FC-8912623691D2","permissions":4,"properties":256,"uuid":{"high":15280699165382689263,"low":10566092386582703062}}],"identifier":"54FAF6C7-DC24-4905-B2B7-37782234471F","includedServices":[],"isPrimary":true,"uuid":{"high":12765160026035274048,"low":12082386824191868805}},"handle":256,"manager":{"app":"org.latchkey.lock","number":0,"restoreIdentifier":"org.latchkey.lock.peripheral","role":"peripheral"},"order":1}}}' AS BLOB));
INSERT INTO record VALUES('settings', '', CAST('{"settings":{"_0":{"bluetoothOn":true,"salt":11145797348794470944}}}' AS BLOB));
INSERT INTO record VALUES('subscription', '35D4DE52-1103-8607-8058-AAC382A05FEC'||char(31)||'1FA33D56-7A40-40CE-96FC-8912623691D2', CAST('{"subscription":{"_0":{"central":"35D4DE52-1103-8607-8058-AAC382A05FEC","characteristic":"1FA33D56-7A40-40CE-96FC-8912623691D2"}}}' AS BLOB));
INSERT INTO record VALUES('subscription', '35D4DE52-1103-8607-8058-AAC382A05FEC'||char(31)||'A2A38D44-E0BC-48C4-A98F-EE22F571A25E', CAST('{"subscription":{"_0":{"central":"35D4DE52-1103-8607-8058-AAC382A05FEC","characteristic":"A2A38D44-E0BC-48C4-A98F-EE22F571A25E"}}}' AS BLOB));
