// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"
)

// suite is a kind with all its policies.
type suite struct {
	*testing.T
	kind       Kind
	evaluators []*Evaluator
}

func newScene(t *testing.T, name string) *suite {
	t.Helper()
	all, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	s, ok := all[name]
	if !ok {
		t.Fatalf("no kind %s", name)
	}
	s.T = t
	return &s
}

// compiled are the kinds with their policies, which take some time to compile.
var compiled = sync.OnceValues(func() (map[string]suite, error) {
	kinds, err := Kinds()
	if err != nil {
		return nil, err
	}
	all := map[string]suite{}
	for _, kind := range kinds {
		policies, err := Policies(kind)
		if err != nil {
			return nil, err
		}
		s := suite{kind: kind}
		for _, policy := range policies {
			judge, err := NewEvaluator(kind, policy.Policy)
			if err != nil {
				return nil, err
			}
			s.evaluators = append(s.evaluators, judge)
		}
		all[kind.Name] = s
	}
	return all, nil
})

// object reads a spec, and annotations where there are some.
func (s *suite) object(spec string, annotations ...string) map[string]any {
	s.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(spec), &tree); err != nil {
		s.Fatalf("%s: %v", spec, err)
	}
	meta := map[string]any{"name": "one", "namespace": "shop"}
	if len(annotations) > 0 {
		all := map[string]any{}
		for i := 0; i < len(annotations); i += 2 {
			all[annotations[i]] = annotations[i+1]
		}
		meta["annotations"] = all
	}
	return map[string]any{"apiVersion": s.kind.Group + "/v1", "kind": s.kind.Name, "metadata": meta, "spec": whole(tree)}
}

// whole turns numbers into integers, as the API server reads them.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = whole(value[key])
		}
	case []any:
		for i := range value {
			value[i] = whole(value[i])
		}
	case float64:
		return int64(value)
	}
	return value
}

// evaluate returns the refusals of all policies.
func (s *suite) evaluate(r Request) string {
	s.Helper()
	if r.User == "" {
		r.User = "ann"
	}
	var all []string
	for _, judge := range s.evaluators {
		for _, refusal := range judge.Evaluate(s.Context(), r) {
			if refusal.Failed {
				s.Errorf("a rule failed: %s", refusal.Message)
			}
			all = append(all, refusal.Message)
		}
	}
	return strings.Join(all, "\n")
}

// wants compares the words of all policies with what they must say; "" is that they say nothing.
func (s *suite) wants(what, said, want string) {
	s.Helper()
	if (said == "") != (want == "") || !strings.Contains(said, want) {
		s.Errorf("%s: the policies say %q, want %q", what, said, want)
	}
}

// only allows these rights alone, each as "verb resource name", and notes what was asked.
func only(asked *[]string, allowed ...string) func(authorizer.Attributes) bool {
	return func(a authorizer.Attributes) bool {
		resource := a.GetResource()
		if a.GetSubresource() != "" {
			resource += "/" + a.GetSubresource()
		}
		right := strings.TrimSpace(fmt.Sprintf("%s %s %s", a.GetVerb(), resource, a.GetName()))
		if asked != nil {
			*asked = append(*asked, right)
		}
		for _, one := range allowed {
			if one == right {
				return a.GetNamespace() == "shop"
			}
		}
		return false
	}
}
