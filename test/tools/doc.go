// Package tools runs Kafka's own command line tools against korvet. Each file of testdata is a script and what it prints:
// a line that begins with "$ " is a command, what follows is its output and, where it is not 0, its exit code. In commands
// and outputs HOST:PORT stands for the broker; what differs from run to run is masked.
//
// go test ./test/tools -update writes what the tools print now. With KORVET_TEST_BOOTSTRAP the scripts run against that
// broker, which is how they were tried on Apache Kafka.
package tools
