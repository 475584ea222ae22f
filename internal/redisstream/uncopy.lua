-- Removes what an unfinished rewrite of compaction left. Redis frees it in the background.
-- KEYS: after the guard's 4 the copy
-- Answers {'OK', 1 = it was there} or the guard's.
return {'OK', redis.call('UNLINK', KEYS[4])}
