// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// harmless is the damage that need not be reported: the API server shows nothing of an unknown field,
// and 200 KiB of annotations are many, and allowed.
var harmless = []string{"whole", "unknown-field", "huge-annotation"}

// verdict is what vet says in JSON.
type verdict struct {
	Summary  struct{ Objects, Errors, Warnings int }
	Unread   string
	Findings []struct{ Severity, Rule, Kind, Namespace, Name, Field, Message string }
	code     int
}

// vet runs `fairlead vet --live` as a user.
func (s *suite) vet(kubeconfig string, args ...string) verdict {
	s.Helper()
	program, err := filepath.Abs(filepath.Join(framework.Root, "bin", "fairlead-operator-outside"))
	s.Must(err)
	command := exec.CommandContext(s.Context(), program, append([]string{"vet", "--live", "-o", "json", "--kubeconfig", kubeconfig}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	var v verdict
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		v.code = ended.ExitCode()
	} else {
		s.Must(err)
	}
	if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
		s.Fatalf("vet: %v, exit code %d\n%s\n%s", err, v.code, stderr.String(), stdout.String())
	}
	return v
}

// about are the findings of an object, or of a kind where no name is given. That most of the objects act
// on the same workload does not count.
func (v verdict) about(k kind, name string) (said []string) {
	for _, f := range v.Findings {
		if f.Kind == k.name && f.Name == name && f.Rule != "overlap" {
			said = append(said, strings.TrimSpace(f.Severity+" "+f.Rule+" "+f.Field+": "+f.Message))
		}
	}
	return said
}

// namedByVet wants a finding for all damage that matters, and none for the rest.
func (s *suite) namedByVet() {
	v := s.vet(s.Kubeconfig(), "-n", s.Namespace)
	if v.code != 1 || v.Unread != "" || v.Summary.Objects < len(kinds)*len(damage) {
		s.Errorf("exit code %d, %q, %+v", v.code, v.Unread, v.Summary)
	}
	for _, k := range kinds {
		for name := range damage {
			if said := v.about(k, name); slices.Contains(harmless, name) != (len(said) == 0) {
				s.Errorf("of %s %s vet says %q", k.name, name, said)
			}
		}
		if said := v.about(k, ""); len(said) > 0 {
			s.Errorf("of %s vet says %q", k.name, said)
		}
	}
	all := s.vet(s.Kubeconfig())
	if all.Summary != v.Summary {
		s.Errorf("in all namespaces %+v, in the one that there is %+v", all.Summary, v.Summary)
	}
}

// poisonNamedByVet has the API server ask a converter that fails for one object.
func (s *suite) poisonNamedByVet(store *etcd) {
	converter := httptest.NewTLSServer(http.HandlerFunc(failing("poison")))
	defer converter.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: converter.Certificate().Raw})
	config, err := json.Marshal(map[string]any{"url": converter.URL, "caBundle": ca})
	s.Must(err)
	s.run("patch", "crd", chaosPods.definition(), "--type=json", "-p", `[{"op":"replace","path":"/spec/conversion/webhook/clientConfig","value":`+string(config)+`}]`)
	store.put(chaosPods, s.Namespace, "poison", s.stored(chaosPods, "poison"))
	s.Eventually(func() error { // the API server takes the converter from the CRD on its own
		answer := s.try("get", chaosPods.at("v1alpha1"), "poison", "-o", "name")
		if answer.failure == nil || !strings.Contains(answer.err, "poisoned on purpose") {
			return errors.New(answer.err + answer.out)
		}
		return nil
	})
	v := s.vet(s.Kubeconfig())
	if said := strings.Join(v.about(chaosPods, "poison"), "\n"); v.code != 1 || !strings.Contains(said, "error conversion : cannot be read at v1alpha1") ||
		!strings.Contains(said, "poisoned on purpose") || !strings.Contains(said, "kubectl edit chaospods.v1.chaos.fairlead.dev -n "+s.Namespace+" poison") {
		s.Errorf("exit code %d: %s", v.code, said)
	}
	if said := v.about(chaosPods, "whole"); len(said) > 0 {
		s.Errorf("of a good object: %q", said)
	}
	if said := strings.Join(v.about(chaosPods, ""), "\n"); !strings.Contains(said, "LIST at v1alpha1 fails for all clients") {
		s.Errorf("of the kind: %q", said)
	}
}

// failing is a converter that renames versions, but for one object.
func failing(name string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Response   map[string]any `json:"response"`
			Request    *struct {
				UID               string           `json:"uid"`
				DesiredAPIVersion string           `json:"desiredAPIVersion"`
				Objects           []map[string]any `json:"objects"`
			} `json:"request,omitempty"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&review); err != nil || review.Request == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		result := map[string]any{"status": "Success"}
		for _, object := range review.Request.Objects {
			object["apiVersion"] = review.Request.DesiredAPIVersion
			if object["metadata"].(map[string]any)["name"] == name {
				result = map[string]any{"status": "Failure", "message": "poisoned on purpose"}
			}
		}
		review.Response = map[string]any{"uid": review.Request.UID, "result": result, "convertedObjects": review.Request.Objects}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // the API server says so where it does not arrive
	}
}

// namedAsFarAsAllowed runs vet for a user who may list one kind, in one namespace.
func (s *suite) namedAsFarAsAllowed() {
	user, err := s.User("auditor")
	s.Must(err)
	s.run("create", "role", "auditor", "--verb=list", "--resource="+externalServices.definition())
	s.run("create", "rolebinding", "auditor", "--role=auditor", "--user=auditor")
	s.Eventually(func() error { // the authorizer learns of it on its own
		v := s.vet(user.Kubeconfig, "-n", s.Namespace)
		if len(v.about(externalServices, "texts")) == 0 {
			return errors.New(v.Unread)
		}
		if v.code != 2 || strings.Contains(v.Unread, externalServices.resource) {
			s.Errorf("exit code %d: %s", v.code, v.Unread)
		}
		s.Expect(v.Unread, "rebootpolicies.autoreboot.fairlead.dev: nothing of it was checked: list in namespace "+s.Namespace+" is needed",
			"chaospods.chaos.fairlead.dev: nothing of it was checked")
		s.Expect(strings.Join(v.about(externalServices, ""), "\n"), "the CRD may not be read")
		return nil
	})
	if v := s.vet(user.Kubeconfig); v.code != 2 || v.Summary.Objects != 0 {
		s.Errorf("in all namespaces: exit code %d, %+v", v.code, v.Summary)
	}
}
