// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"strconv"
	"strings"
)

// Object is what there is to know of the object as it was written.
type Object struct {
	// Ports are the keys of spec.ports of an ExternalService, sorted.
	Ports []string
	// Handler is the member of spec.probe that says what to check, such as tcpSocket.
	Handler string
}

// rule maps the fields that begin with from. "[*]" stands for any one index.
type rule struct {
	from, to string
	// how the rest of a path behind from is dealt with
	rest rest
}

type rest int

const (
	keep  rest = iota // it reads the same at v1alpha1
	drop              // all of it is said by one field of v1alpha1
	about             // v1alpha1 does not have the field; to is where its author would look
	block             // v1alpha1 has the field, and not what else may be inside
)

// ToV1Alpha1 answers the field of v1alpha1 that a field of v1 came from, and whether the two are one
// to one. Where they are not, the answer is the nearest field that there is.
func ToV1Alpha1(kind, path string, o Object) (field string, exact bool) {
	var (
		best   rule
		behind string
		index  int
		length = -1
	)
	for _, r := range tables[kind] {
		if after, i, ok := match(path, r.from); ok && len(r.from) > length {
			best, behind, index, length = r, after, i, len(r.from)
		}
	}
	switch {
	case length < 0 && (path == "spec" || !strings.HasPrefix(path, "spec")):
		return path, true // metadata is common to all versions
	case length < 0:
		return "spec", false
	}
	to := strings.ReplaceAll(best.to, "[*]", "["+strconv.Itoa(index)+"]")
	if strings.Contains(to, "{port}") {
		if index >= len(o.Ports) {
			return "spec.ports", false
		}
		to = strings.ReplaceAll(to, "{port}", o.Ports[index])
	}
	if strings.Contains(to, "{handler}") {
		if o.Handler == "" {
			return "spec.probe", false
		}
		to = strings.ReplaceAll(to, "{handler}", o.Handler)
	}
	if best.rest == keep {
		to += behind
	}
	return to, best.rest != about && (best.rest != block || behind == "")
}

// match says that a path begins with a pattern, and answers what is behind it and which index the
// first "[*]" stands for.
func match(path, pattern string) (behind string, index int, ok bool) {
	for first := true; ; first = false {
		part, more, starred := strings.Cut(pattern, "[*]")
		path, ok = strings.CutPrefix(path, part)
		if !ok {
			return "", 0, false
		}
		if !starred {
			ends := path == "" || path[0] == '.' || path[0] == '['
			return path, index, ends
		}
		inside, rest, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(inside)
		if !closed || path[0] != '[' || err != nil || i < 0 {
			return "", 0, false
		}
		if first {
			index = i
		}
		path, pattern = rest, more
	}
}
