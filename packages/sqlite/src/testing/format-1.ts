/**
 * The file of version 0.1: an open hold of a process that has ended, a settled record that was delivered, and an unresolved
 * record that was not. Never change this: it is what users have.
 */
export const FORMAT_1 = `
PRAGMA application_id = 1128352847;
PRAGMA user_version = 1;
CREATE TABLE balances (
    caller TEXT PRIMARY KEY,
    settled TEXT NOT NULL,
    held TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE holds (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    hold TEXT NOT NULL
  ) STRICT;
CREATE TABLE owners (
    id TEXT PRIMARY KEY,
    alive_until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    sequence INTEGER PRIMARY KEY, -- in which order they were kept
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    time INTEGER NOT NULL,
    caller TEXT NOT NULL,
    model TEXT NOT NULL,
    channel TEXT NOT NULL, -- '' of unresolved records
    images INTEGER NOT NULL,
    charge TEXT,
    record TEXT NOT NULL, -- all of it, as JSON
    leased_until INTEGER -- NULL when delivered; 0 when nobody was given it yet
  ) STRICT;
CREATE INDEX records_by_caller ON records (caller, time, id);
CREATE INDEX records_by_channel ON records (channel, time, id);
CREATE INDEX records_by_model ON records (model, time, id);
CREATE INDEX records_by_time ON records (time, id, caller, model, channel, images, charge, state);
CREATE INDEX records_undelivered ON records (sequence, leased_until) WHERE leased_until IS NOT NULL;
INSERT INTO balances (caller, settled, held) VALUES ('me', '1', '0.5');
INSERT INTO holds (id, owner, expires_at, hold) VALUES ('req_open', 'a-dead-owner', 1769864400000, '{"id":"req_open","time":"2026-01-31T12:00:00.000Z","caller":"me","group":"default","model":"seedream","operation":"generate","amount":"0.5","budget":"10","ttlMs":3600000}');
INSERT INTO records (sequence, id, state, time, caller, model, channel, images, charge, record, leased_until) VALUES (1, 'req_settled', 'settled', 1769860800000, 'me', 'seedream', 'ark-1', 1, '0.3', '{"state":"settled","id":"req_settled","time":"2026-01-31T12:00:00.000Z","caller":"me","group":"default","model":"seedream","operation":"generate","channel":"ark-1","upstreamModel":"ep-1","status":200,"images":1,"charge":"0.3","durationMs":1500}', NULL);
INSERT INTO records (sequence, id, state, time, caller, model, channel, images, charge, record, leased_until) VALUES (2, 'req_lost', 'unresolved', 1769860800000, 'me', 'seedream', '', 0, '0.7', '{"state":"unresolved","id":"req_lost","time":"2026-01-31T12:00:00.000Z","caller":"me","group":"default","model":"seedream","operation":"generate","images":0,"charge":"0.7","held":"0.7"}', 0);
`;
