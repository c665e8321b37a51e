// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// request is one of the operator's, from the audit log.
type request struct {
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	ObjectRef  *struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

func (r request) forbidden() bool {
	return r.ResponseStatus.Code == 403 || r.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// place is the resource of a request, behind its namespace.
func (r request) place() string {
	if r.ObjectRef == nil || r.ObjectRef.Resource == "" {
		return ""
	}
	return r.ObjectRef.Namespace + "/" + r.ObjectRef.Resource
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %s: %d", r.User.Username, r.Verb, r.RequestURI, r.ResponseStatus.Code)
}

// requests are those of the operator until now; a watch that has ended is there twice.
func (s *suite) requests() []request {
	s.Helper()
	log, err := os.Open(s.AuditLog())
	s.Must(err)
	defer func() { _ = log.Close() }()
	var all []request
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		s.Must(json.Unmarshal(lines.Bytes(), &r))
		all = append(all, r)
	}
	s.Must(lines.Err())
	return all
}
