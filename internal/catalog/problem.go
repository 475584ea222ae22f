package catalog

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// problem is an error of the REST specification: its type is what clients make an exception of.
type problem struct {
	status  int
	kind    string
	message string
}

func (p problem) Error() string { return p.message }

func badRequest(message string) problem {
	return problem{http.StatusBadRequest, "BadRequestException", message}
}

func noNamespace(name string) problem {
	return problem{http.StatusNotFound, "NoSuchNamespaceException", "namespace does not exist: " + name}
}

func noTable(name string) problem {
	return problem{http.StatusNotFound, "NoSuchTableException", "table does not exist: " + name}
}

func unsupported(message string) problem {
	return problem{http.StatusNotAcceptable, "UnsupportedOperationException", message}
}

// problemOf tells clients what an error means for them. Those of a store that does not answer end by themselves.
func problemOf(err error) problem {
	var p problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return problem{http.StatusRequestEntityTooLarge, "BadRequestException", "the request is larger than korvet.storage.remote.catalog.max-request-bytes"}
	case errors.Is(err, chain.ErrNoTable):
		return problem{http.StatusNotFound, "NoSuchTableException", "the table has no metadata yet, or none any more"}
	}
	return problem{http.StatusServiceUnavailable, "ServiceUnavailableException", err.Error()}
}

// commitProblem is the same for a commit. Only where the table may have changed is the answer a 500: the engine must not
// delete the files that it wrote.
func commitProblem(err error) problem {
	switch {
	case errors.Is(err, tables.ErrRefused):
		return badRequest(err.Error())
	case errors.Is(err, tables.ErrConflict), errors.Is(err, chain.ErrStale):
		return problem{http.StatusConflict, "CommitFailedException", err.Error()}
	case errors.Is(err, chain.ErrNoTable):
		return problemOf(err)
	}
	return problem{http.StatusInternalServerError, "CommitStateUnknownException", err.Error()}
}

func writeProblem(w http.ResponseWriter, p problem) {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": p.message, "type": p.kind, "code": p.status}})
	if err != nil {
		panic("catalog: " + err.Error()) // no map of texts and numbers fails
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // the client may be gone
}
