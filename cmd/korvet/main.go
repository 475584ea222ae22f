// Korvet is a Kafka broker whose log is Redis Streams.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
