// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
)

func TestTheKindsAreThoseOfTheConfigurationAndOfTheManifests(t *testing.T) {
	var names, files []string
	for _, kind := range allKinds() {
		if kind.Kind != "ClusterRebootPolicy" { // which comes with RebootPolicy
			names = append(names, kind.Kind)
		}
		plural, group, _ := strings.Cut(kind.definition, ".")
		files = append(files, group+"_"+plural+".yaml")
	}
	if diff := cmp.Diff(options.Default().Kinds, names); diff != "" {
		t.Errorf("-options +kinds:\n%s", diff)
	}
	found, err := filepath.Glob("../../../config/crd/bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	slices.Sort(files)
	if diff := cmp.Diff(found, files); diff != "" {
		t.Errorf("-CRDs +kinds:\n%s", diff)
	}
}

// combinations returns the seven ways to name kinds.
func combinations() (all [][]string) {
	names := options.Default().Kinds
	for bits := 1; bits < 1<<len(names); bits++ {
		var some []string
		for i, name := range names {
			if bits&(1<<i) != 0 {
				some = append(some, name)
			}
		}
		all = append(all, some)
	}
	return all
}

func TestAKindThatIsNotNamedIsServedBySomeoneElse(t *testing.T) {
	for _, named := range combinations() {
		c := options.Default()
		c.Kinds = named
		a := &assembly{config: c, logger: logr.Discard()}
		a.kinds, a.leftOut = allKinds().split(c)
		var paths []string
		for path := range a.handlers(reviews{}, nil) {
			paths = append(paths, path)
		}
		want := []string{conversion.Path}
		for _, one := range a.kinds {
			group, kind := strings.ReplaceAll(one.Group, ".", "-"), strings.ToLower(one.Kind)
			want = append(want, "/mutate-"+group+"-v1-"+kind, "/validate-"+group+"-v1-"+kind)
		}
		slices.Sort(paths)
		slices.Sort(want)
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Errorf("%q serves (-want +got):\n%s", named, diff)
		}
		if with := slices.Contains(named, "RebootPolicy"); with != a.config.HasKind("ClusterRebootPolicy") {
			t.Errorf("%q: %q", named, a.kinds.definitions())
		} else if with {
			named = append(named, "ClusterRebootPolicy")
		}
		if len(a.kinds.definitions()) != len(named) || len(a.kinds)+len(a.leftOut) != len(allKinds()) {
			t.Errorf("%q: %q", named, a.kinds.definitions())
		}
	}
}
