// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// health returns Argo CD's health of an object by config/argocd/health.lua.
func health(object map[string]any) (state, message string, err error) {
	script, err := os.ReadFile(framework.Root + "/config/argocd/health.lua")
	if err != nil {
		return "", "", err
	}
	result, err := run(string(script), object)
	if err != nil {
		return "", "", err
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String(), nil
}

// run runs a script as Argo CD does: the object is the global obj, there are the libraries base, package and table, of os the time
// and the date, and a second.
func run(script string, object map[string]any) (*lua.LTable, error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, library := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(library), Protect: true}, lua.LString(name)); err != nil {
			return nil, err
		}
	}
	l.PreloadModule(lua.OsLibName, func(l *lua.LState) int {
		lua.OpenOs(l)
		whole, allowed := l.CheckTable(-1), l.NewTable()
		for _, name := range []string{"time", "date"} {
			allowed.RawSetString(name, whole.RawGetString(name))
		}
		l.Push(allowed)
		return 1
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", luaValue(l, object))
	if err := l.DoString(script); err != nil {
		return nil, err
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return nil, errors.New("the script returns no table")
	}
	return result, nil
}

// luaValue is a value of JSON in Lua.
func luaValue(l *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := l.NewTable()
		for _, item := range value {
			table.Append(luaValue(l, item))
		}
		return table
	case map[string]any:
		table := l.NewTable()
		for key, member := range value {
			table.RawSetString(key, luaValue(l, member))
		}
		return table
	}
	return lua.LNil
}

// healthAgrees returns an error unless Argo CD and kstatus agree about an object. Suspended is the state of a suspended object,
// and otherwise not Failed.
func healthAgrees(object *unstructured.Unstructured, by status.Status) error {
	state, message, err := health(object.Object)
	if err != nil {
		return err
	}
	want := map[status.Status]string{status.CurrentStatus: "Healthy", status.InProgressStatus: "Progressing", status.FailedStatus: "Degraded", status.TerminatingStatus: "Progressing"}[by]
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Suspended" && c["status"] == "True" && observed == object.GetGeneration() && by != status.FailedStatus {
			want = "Suspended"
		}
	}
	if state != want || message == "" || strings.HasSuffix(message, ": ") {
		return fmt.Errorf("Argo CD says %s (%q), want %s as kstatus says %s; status is %v", state, message, want, by, object.Object["status"])
	}
	return nil
}

// Each status that the rows of reasons have, beside each state of Stalled and Suspended.
func TestHealthInArgoCDIsThatOfKstatus(t *testing.T) {
	counts := map[string]int{}
	groups := map[string]string{"ClusterRebootPolicy": "autoreboot.fairlead.dev"}
	for kind, resource := range resources {
		groups[kind] = resource.Group
	}
	for kind, group := range groups {
		byType := conditionsOf(kind)
		stalls, suspends := 3, 2
		if kind == "ClusterRebootPolicy" { // it is not suspended: its template may be
			stalls, suspends = 2, 0
		}
		if len(byType["Ready"]) < 5 || len(byType["Stalled"]) < stalls || len(byType["Suspended"]) != suspends {
			t.Fatalf("%s: found %d, %d and %d reasons: the search is broken", kind, len(byType["Ready"]), len(byType["Stalled"]), len(byType["Suspended"]))
		}
		none := []any{nil}
		for _, ready := range append(none, byType["Ready"]...) {
			for _, stalled := range append(none, byType["Stalled"]...) {
				for _, suspended := range append(none, byType["Suspended"]...) {
					for _, observed := range []int64{2, 1, -1} {
						var conditions []any
						for _, c := range []any{ready, stalled, suspended} {
							if c != nil {
								conditions = append(conditions, c)
							}
						}
						object := &unstructured.Unstructured{Object: map[string]any{
							"apiVersion": group + "/v1", "kind": kind,
							"metadata": map[string]any{"name": "a", "namespace": "b", "generation": int64(2)},
							"status":   map[string]any{"observedGeneration": observed, "conditions": conditions},
						}}
						result, err := status.Compute(object)
						if err != nil {
							t.Fatal(err)
						}
						if ready == nil && observed == 2 && result.Status == status.CurrentStatus {
							continue // kstatus takes an object without conditions for one that never has any
						}
						if err := healthAgrees(object, result.Status); err != nil {
							t.Errorf("%s: %v", kind, err)
						}
						state, _, _ := health(object.Object)
						counts[state]++
					}
				}
			}
		}
	}
	for _, state := range []string{"Healthy", "Progressing", "Degraded", "Suspended"} {
		if counts[state] < 3 {
			t.Errorf("%s was said %d times: %v", state, counts[state], counts)
		}
	}
}

// conditionsOf are the conditions of a kind by their types, as the rows of its reasons list them.
func conditionsOf(kind string) map[string][]any {
	byType := map[string][]any{}
	for _, r := range inspect.Reasons(kind) {
		for place := range strings.FieldsSeq(r.On) {
			if of, status, is := strings.Cut(place, "="); is && of != "Event" {
				byType[of] = append(byType[of], map[string]any{"type": of, "status": status, "reason": r.Name, "message": "it is so"})
			}
		}
	}
	return byType
}

func TestHealthInArgoCDOfWhatHasNoStatus(t *testing.T) {
	metadata := map[string]any{"generation": int64(1)}
	for name, object := range map[string]map[string]any{
		"no status":        {"metadata": metadata},
		"newborn":          {"metadata": metadata, "status": map[string]any{"observedGeneration": int64(-1)}},
		"no conditions":    {"metadata": metadata, "status": map[string]any{"observedGeneration": int64(1)}},
		"is being deleted": {"metadata": map[string]any{"generation": int64(1), "deletionTimestamp": "2026-11-23T00:00:00Z"}, "status": map[string]any{"observedGeneration": int64(1), "conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Published"}}}},
	} {
		if state, message, err := health(object); state != "Progressing" || message == "" || err != nil {
			t.Errorf("%s: %s, %q, %v", name, state, message, err)
		}
	}
}
