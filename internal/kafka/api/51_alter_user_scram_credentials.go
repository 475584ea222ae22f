package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterUserScramCredentials (key 51), version 0 (KIP-554). Clients cannot log in in this version: what Kafka refuses is
// refused as there, and credentials that nobody could use are not stored.

func (a *API) alterUserSCRAMCredentials(_ *call, req *kmsg.AlterUserSCRAMCredentialsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
	var order []string
	outcome := map[string]error{} // a user's first error counts
	note := func(user string, err error) {
		if _, known := outcome[user]; known {
			err = refuse(kerr.DuplicateResource, "A user credential cannot be altered twice in the same request")
		} else {
			order = append(order, user)
		}
		outcome[user] = err
	}
	for i := range req.Deletions {
		note(req.Deletions[i].Name, checkSCRAMDeletion(&req.Deletions[i]))
	}
	for i := range req.Upsertions {
		note(req.Upsertions[i].Name, checkSCRAMUpsertion(&req.Upsertions[i]))
	}
	for _, user := range order {
		resp.Results = append(resp.Results, kmsg.AlterUserSCRAMCredentialsResponseResult{
			User: user, ErrorCode: errorCode(outcome[user]), ErrorMessage: errorMessage(outcome[user]),
		})
	}
	return resp
}

// SCRAM's mechanisms as the protocol numbers them, and the iterations that Kafka allows.
const (
	scramSHA256, scramSHA512 = 1, 2
	minSCRAMIterations       = 4096
	maxSCRAMIterations       = 16384
)

func checkSCRAMDeletion(d *kmsg.AlterUserSCRAMCredentialsRequestDeletion) error {
	if err := checkSCRAM(d.Name, d.Mechanism); err != nil {
		return err
	}
	return refuse(kerr.ResourceNotFound, "Attempt to delete a user credential that does not exist")
}

func checkSCRAMUpsertion(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) error {
	if err := checkSCRAM(u.Name, u.Mechanism); err != nil {
		return err
	}
	if u.Iterations < minSCRAMIterations {
		return refuse(kerr.UnacceptableCredential, "Too few iterations")
	}
	if u.Iterations > maxSCRAMIterations {
		return refuse(kerr.UnacceptableCredential, "Too many iterations")
	}
	return refuse(kerr.UnsupportedSaslMechanism, "SASL is not in this version: the credentials are not stored, since nobody could log in with them.")
}

func checkSCRAM(user string, mechanism int8) error {
	if user == "" {
		return refuse(kerr.UnacceptableCredential, "Username must not be empty")
	}
	if mechanism != scramSHA256 && mechanism != scramSHA512 {
		return refuse(kerr.UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
	}
	return nil
}
