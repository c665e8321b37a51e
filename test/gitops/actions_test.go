// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// actions are those of a kind, as argocd-cm has them.
type actions struct {
	Discovery   string `json:"discovery.lua"`
	Definitions []struct {
		Name   string `json:"name"`
		Action string `json:"action.lua"`
	} `json:"definitions"`
}

func actionsOf(t *testing.T, kind string) (found actions) {
	t.Helper()
	raw, err := os.ReadFile(framework.Root + "/config/argocd/actions-" + strings.ToLower(kind) + ".yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(raw, &found)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// offered are the actions that Argo CD offers for an object, and whether each can be chosen.
func (a actions) offered(object map[string]any) (map[string]bool, error) {
	table, err := run(a.Discovery, object)
	if err != nil {
		return nil, err
	}
	offered := map[string]bool{}
	table.ForEach(func(name, action lua.LValue) {
		settings, is := action.(*lua.LTable)
		offered[name.String()] = !is || settings.RawGetString("disabled") != lua.LTrue
	})
	return offered, nil
}

// patch returns the patch that Argo CD sends for an action: the difference between an object and the script's result.
func (a actions) patch(name string, object map[string]any) ([]byte, error) {
	for _, definition := range a.Definitions {
		if definition.Name != name {
			continue
		}
		table, err := run(definition.Action, object)
		if err != nil {
			return nil, err
		}
		before, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		after, err := json.Marshal(goValue(table, object))
		if err != nil {
			return nil, err
		}
		return jsonpatch.CreateMergePatch(before, after)
	}
	return nil, errors.New("there is no such action")
}

// goValue is a value of Lua in JSON. Lua does not tell an empty map from an empty list, so that these are as they were.
func goValue(value lua.LValue, was any) any {
	switch value := value.(type) {
	case lua.LBool:
		return bool(value)
	case lua.LString:
		return string(value)
	case lua.LNumber:
		return float64(value)
	case *lua.LTable:
		if value.Len() > 0 {
			var list []any
			former, _ := was.([]any)
			value.ForEach(func(_, item lua.LValue) {
				var one any
				if len(former) > len(list) {
					one = former[len(list)]
				}
				list = append(list, goValue(item, one))
			})
			return list
		}
		members := map[string]any{}
		former, _ := was.(map[string]any)
		value.ForEach(func(name, member lua.LValue) { members[name.String()] = goValue(member, former[name.String()]) })
		if len(members) == 0 && was != nil {
			return was
		}
		return members
	}
	return nil
}

// An action is what `fairlead` does by the verb of its name, and is offered where that verb would do something.
func TestActionsInArgoCDRequestWhatTheVerbsRequest(t *testing.T) {
	const newborn, running, halted, failedOver = "newborn", "running", "halted", "failed over"
	statuses := map[string]any{
		newborn: map[string]any{"observedGeneration": int64(-1)},
		running: map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "FailedOver", "status": "False"}}},
		halted: map[string]any{"halt": map[string]any{"reason": "RecoveryFailed"}, "conditions": []any{
			map[string]any{"type": "Stalled", "status": "True"}, map[string]any{"type": "Ready", "status": "True"}}},
		failedOver: map[string]any{"conditions": []any{map[string]any{"type": "FailedOver", "status": "True"}}},
	}
	for _, test := range []struct{ kind, action, annotation, offered string }{
		{"RebootPolicy", "restart", "autoreboot.fairlead.dev/restart-now", "running halted"},
		{"RebootPolicy", "retry", "autoreboot.fairlead.dev/retry", "halted"},
		{"ChaosPod", "run", "chaos.fairlead.dev/run-now", "running halted"},
		{"ChaosPod", "retry", "chaos.fairlead.dev/retry", "halted"},
		{"ExternalService", "failback", "networking.fairlead.dev/failback-now", "failed over"},
	} {
		all := actionsOf(t, test.kind)
		for name, status := range statuses {
			if name == failedOver && test.kind != "ExternalService" || name == halted && test.kind == "ExternalService" {
				continue
			}
			object := map[string]any{"metadata": map[string]any{"name": "a", "generation": int64(2)}, "spec": map[string]any{"empty": map[string]any{}, "list": []any{}}, "status": status}
			offered, err := all.offered(object)
			if is := strings.Contains(test.offered, name); err != nil || offered[test.action] != is {
				t.Errorf("%s of a %s that is %s is offered: %t, want %t; %v", test.action, test.kind, name, offered[test.action], is, err)
			}
			patch, err := all.patch(test.action, object)
			var sent struct {
				Metadata struct {
					Annotations map[string]common.Token `json:"annotations"`
				} `json:"metadata"`
			}
			if err == nil {
				err = yaml.UnmarshalStrict(patch, &sent)
			}
			if token := sent.Metadata.Annotations[test.annotation]; err != nil || len(sent.Metadata.Annotations) != 1 || !token.IsValid() {
				t.Errorf("%s of a %s sends %s, %v", test.action, test.kind, patch, err)
			}
		}
	}
}

func TestActionsInArgoCDSuspendAndEndIt(t *testing.T) {
	for kind := range resources {
		all := actionsOf(t, kind)
		for _, suspended := range []bool{true, false} {
			object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}, "spec": map[string]any{"suspend": suspended}}
			offered, err := all.offered(object)
			if err != nil || offered["suspend"] == suspended || offered["resume"] != suspended {
				t.Errorf("%s: %v, %v", kind, offered, err)
			}
			name := map[bool]string{true: "resume", false: "suspend"}[suspended]
			if patch, err := all.patch(name, object); err != nil || string(patch) != fmt.Sprintf(`{"spec":{"suspend":%t}}`, !suspended) {
				t.Errorf("%s of a %s sends %s, %v", name, kind, patch, err)
			}
			var defined []string
			for _, d := range all.Definitions {
				defined = append(defined, d.Name)
			}
			if names := slices.Sorted(maps.Keys(offered)); !slices.Equal(names, slices.Sorted(slices.Values(defined))) {
				t.Errorf("%s: offers %q, and defines %q", kind, names, defined)
			}
		}
	}
}

func TestAnActionInArgoCDIsHandledByTheOperator(t *testing.T) {
	s := newSuite(t)
	s.reconcile()
	s.Apply(deployment)
	m := s.manifest("RebootPolicy", "v1", "acted", specs["RebootPolicy"]["v1"])
	s.Apply(marshal(t, m))
	s.Kubectl("wait", "--for=condition=Ready", "--timeout=1m", at(m, "v1"))
	all := actionsOf(t, "RebootPolicy")
	for _, step := range []struct{ name, condition string }{
		{"restart", "Waiting"}, // until the Deployment has pods
		{"suspend", "Suspended"},
	} {
		live := s.get(m, "v1")
		if offered, err := all.offered(live.Object); err != nil || !offered[step.name] {
			t.Fatalf("%v, %v", offered, err)
		}
		patch, err := all.patch(step.name, live.Object)
		s.Must(err)
		_, err = s.at("RebootPolicy", "v1").Patch(s.Context(), m.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		s.Must(err)
		s.Kubectl("wait", "--for=condition="+step.condition, "--timeout=1m", at(m, "v1"))
	}
}
