// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// views are what readers see of all objects, by version, kind and name.
type views map[string]map[string]any

// views reads everything from etcd, and leaves out what every write changes, and what the load writes.
func (s *upgradeSuite) views() (views, error) {
	all := views{}
	for _, version := range []string{"v1alpha1", "v1"} {
		all[version] = map[string]any{}
		for _, k := range kinds {
			list, err := s.of(k, version).List(s.Context(), metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			for _, object := range list.Items {
				if strings.HasPrefix(object.GetName(), busy) {
					continue
				}
				object.SetResourceVersion("")
				all[version][k.name+" "+object.GetName()] = object.Object
			}
		}
	}
	return all, nil
}

// atRest returns the views once they stay: the reconcilers have said what they have to say.
func (s *upgradeSuite) atRest() views {
	s.Helper()
	last, since := views{}, time.Now()
	s.Eventually(func() error {
		now, err := s.views()
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(last, now) {
			last, since = now, time.Now()
		}
		if time.Since(since) < 3*time.Second {
			<-time.After(time.Second) // the lists are long
			return errors.New("objects still change")
		}
		return nil
	})
	return last
}

// same wants readers to see what they saw, to the last timestamp.
func (s *upgradeSuite) same(what string, before, after views) {
	s.Helper()
	const most = 5
	for _, version := range slices.Sorted(maps.Keys(before)) {
		if was, is := len(before[version]), len(after[version]); was != is {
			s.Errorf("%s: %d objects at %s, there were %d", what, is, version, was)
		}
		different := 0
		for _, name := range slices.Sorted(maps.Keys(before[version])) {
			diff := cmp.Diff(before[version][name], after[version][name])
			if diff == "" {
				continue
			}
			if different++; different <= most {
				s.Errorf("%s: %s reads differently at %s (-before +after):\n%.3000s", what, name, version, diff)
			}
		}
		if different > most {
			s.Errorf("%s: %d objects read differently at %s", what, different, version)
		}
	}
}

// without returns the views without the objects that are stuck.
func (v views) without(stuck func(k kind) []string) views {
	less := views{}
	for version, objects := range v {
		less[version] = maps.Clone(objects)
		for _, k := range kinds {
			for _, name := range stuck(k) {
				delete(less[version], k.name+" "+name)
			}
		}
	}
	return less
}

// allStoredAt wants every object in etcd at a version, but for some.
func (s *upgradeSuite) allStoredAt(version string, but func(k kind) []string) {
	s.Helper()
	for _, k := range kinds {
		list, err := s.of(k, "v1").List(s.Context(), metav1.ListOptions{})
		s.Must(err)
		counts, wanted := map[string]int{}, 0
		for _, object := range list.Items {
			if slices.Contains(but(k), object.GetName()) {
				continue
			}
			counts[s.stored(k, object.GetName()).GetAPIVersion()]++
			wanted++
		}
		if want := map[string]int{k.group + "/" + version: wanted}; !maps.Equal(counts, want) {
			s.Errorf("%s: etcd holds %v, want %v", k.name, counts, want)
		}
	}
}

// generations are those of Deployments, which no migration may restart.
func (s *upgradeSuite) generations() map[string]int64 {
	s.Helper()
	var list unstructured.UnstructuredList
	s.Must(json.Unmarshal([]byte(s.Kubectl("get", "deployments", "-n", namespace, "-o", "json")), &list))
	all := map[string]int64{}
	for _, item := range list.Items {
		all[item.GetName()] = item.GetGeneration()
	}
	return all
}
