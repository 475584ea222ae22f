package catalog

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// call is a request on its way through the routes.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	names []string // what stands for the * of the route: a namespace, a table
}

// route is a path below /v1 and what its methods do. A method that is not there is answered 405.
type route struct {
	path    string
	methods map[string]func(*Catalog, *call) error
}

// announced are the requests that engines may send; the rest of what is served they send without being told, or not at all.
var announced = []string{
	"GET /v1/{prefix}/namespaces",
	"GET /v1/{prefix}/namespaces/{namespace}",
	"HEAD /v1/{prefix}/namespaces/{namespace}",
	"GET /v1/{prefix}/namespaces/{namespace}/tables",
	"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
	"HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
	commitEndpoint,
}

const commitEndpoint = "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}"

type methods = map[string]func(*Catalog, *call) error

var routes = []route{
	{"config", methods{"GET": (*Catalog).getConfig}},
	{"namespaces", methods{"GET": (*Catalog).listNamespaces, "POST": refuse(noNamespaces)}},
	{"namespaces/*", methods{"GET": (*Catalog).getNamespace, "HEAD": (*Catalog).headNamespace, "DELETE": refuse(noNamespaces)}},
	{"namespaces/*/properties", methods{"POST": refuse(noNamespaces)}},
	{"namespaces/*/register", methods{"POST": refuse(noTables)}},
	{"namespaces/*/tables", methods{"GET": (*Catalog).listTables, "POST": refuse(noTables)}},
	{"namespaces/*/tables/*", methods{"GET": (*Catalog).loadTable, "HEAD": (*Catalog).headTable, "POST": (*Catalog).commitTable, "DELETE": refuse(noTables)}},
	{"namespaces/*/tables/*/metrics", methods{"POST": (*Catalog).takeMetrics}},
	{"namespaces/*/views", methods{"GET": noViews, "POST": refuse(onlyTables)}},
	{"namespaces/*/views/*", methods{"GET": noViews, "HEAD": noViews, "POST": noViews, "DELETE": noViews}},
	{"tables/rename", methods{"POST": refuse(noTables)}},
	{"transactions/commit", methods{"POST": (*Catalog).commitTransaction}},
}

const (
	noNamespaces = "there is one namespace, korvet.namespace, and it is not for engines to change"
	noTables     = "tables are those of topics: a topic with remote.storage.enable=true has one, which goes when the topic is deleted"
	onlyTables   = "the catalog keeps tables of topics and nothing else"
)

func refuse(why string) func(*Catalog, *call) error {
	return func(*Catalog, *call) error { return unsupported(why) }
}

func noViews(_ *Catalog, q *call) error {
	name := strings.Join(q.names, ".")
	return problem{http.StatusNotFound, "NoSuchViewException", "there are no views: " + name}
}

// serve finds the route of a request. What it returns was not answered yet.
func (c *Catalog) serve(w http.ResponseWriter, r *http.Request) error {
	path, err := segments(r.URL.EscapedPath())
	if err != nil {
		return badRequest("the path cannot be read: " + err.Error())
	}
	for _, candidate := range routes {
		names, ok := match(strings.Split(candidate.path, "/"), path)
		if !ok {
			continue
		}
		do, ok := candidate.methods[r.Method]
		if !ok {
			w.Header().Set("Allow", allowed(candidate.methods))
			return problem{http.StatusMethodNotAllowed, "UnsupportedOperationException", r.Method + " is nothing that can be done here"}
		}
		return do(c, &call{w: w, r: r, names: names})
	}
	return problem{http.StatusNotFound, "NoSuchEndpointException", "the catalog has no " + r.URL.Path + ": it begins at /v1/config"}
}

func allowed(m methods) string {
	var list []string
	for method := range m {
		list = append(list, method)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// segments splits a path behind /v1 into its names. The word that a client was told to put before them (prefix) is none of ours,
// but clients may be set to send one.
func segments(path string) ([]string, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		name, err := url.PathUnescape(p)
		if err != nil {
			return nil, err
		}
		parts[i] = name
	}
	if parts[0] != "v1" {
		return nil, nil
	}
	parts = parts[1:]
	if len(parts) > 1 && !isFirst(parts[0]) {
		parts = parts[1:]
	}
	return parts, nil
}

// isFirst tells whether a path below /v1 begins with a word.
func isFirst(word string) bool {
	return slices.ContainsFunc(routes, func(r route) bool { return strings.Split(r.path, "/")[0] == word })
}

func match(pattern, path []string) (names []string, ok bool) {
	if len(pattern) != len(path) {
		return nil, false
	}
	for i, p := range pattern {
		switch {
		case p == "*":
			names = append(names, path[i])
		case p != path[i]:
			return nil, false
		}
	}
	return names, true
}
