// Package conformance holds black-box tests of the Kafka protocol: they send raw requests over TCP and check the answers
// to the last byte. Every row states what Apache Kafka answers; a row in which korvet answers otherwise on purpose says so
// (see differs) and points to the passage of docs/compatibility.md that tells users.
//
// Without environment variables the tests start korvet and a Redis of their own. With
//
//	KORVET_TEST_BOOTSTRAP=host:port   they run against that broker (a fresh, single-node one, plaintext)
//	KORVET_TEST_EXPECT=kafka|korvet   whose answers to expect of it (default kafka)
//
// the tables, the version sweep and the tests of waiting run against any broker, which is how the tests themselves are
// proven right. Start Apache Kafka for that with group.initial.rebalance.delay.ms=0; auto.create.topics.enable may be
// either. Tests that restart the broker or look into its process always start a korvet of their own.
package conformance
