// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// endlessAPI is a world of Secrets that are made when they are read.
type endlessAPI struct {
	version int
	size    int
	reads   int
}

func (e *endlessAPI) read(context.Context, Ref) (*content, error) {
	e.reads++
	return &content{version: strconv.Itoa(e.version), data: map[string][]byte{"k": bytes.Repeat([]byte{byte(e.version)}, e.size)}}, nil
}

func (e *endlessAPI) list(context.Context, scope, labels.Selector, int64) ([]string, error) {
	return nil, nil
}

const (
	stormSecrets = 4000
	stormOwners  = 1000
)

// newStorm is a stand in which 1,000 owners observe four Secrets each.
func newStorm(t testing.TB, size int) (*suite, *endlessAPI, map[types.NamespacedName][]Want) {
	s := newSuite(t, Watch)
	e := &endlessAPI{version: 10, size: size}
	s.reader = e
	all := map[types.NamespacedName][]Want{}
	for i := range stormOwners {
		by := types.NamespacedName{Namespace: shop, Name: fmt.Sprint("policy-", i)}
		for j := range stormSecrets / stormOwners {
			all[by] = append(all[by], want(fmt.Sprintf("secret-%d-%d", i, j)))
		}
		s.observe(by, all[by]...)
	}
	return s, e, all
}

func (s *suite) change(all map[types.NamespacedName][]Want, version int) {
	for _, wants := range all {
		for i := range wants {
			s.events.OnUpdate(meta(wants[i].Ref, version-1, nil), meta(wants[i].Ref, version, nil))
		}
	}
}

func TestAStormReadsEachSecretOnce(t *testing.T) {
	s, e, all := newStorm(t, 10)
	if e.reads != stormSecrets {
		t.Fatalf("%d reads at first", e.reads)
	}
	s.expectNotified()
	// What is not observed costs no notification and no read.
	for i := range stormSecrets {
		s.events.OnAdd(meta(secret(fmt.Sprint("other-", i)), 11, nil), false)
	}
	s.expectNotified()
	e.version = 11
	s.change(all, 11)
	told := s.notified()
	if len(told) != stormOwners {
		t.Errorf("%d owners were notified", len(told))
	}
	for range 2 {
		for _, by := range told {
			s.observe(by, all[by]...)
		}
	}
	if e.reads != 2*stormSecrets {
		t.Errorf("%d reads in all", e.reads)
	}
}

func TestMemoryDoesNotGrowWithContent(t *testing.T) {
	held := func() uint64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := held()
	s, _, all := newStorm(t, 32<<10) // 128 MiB of content
	grown := int64(held()) - int64(before)
	t.Logf("%d Secrets of 32 KiB and %d owners: %d KiB", stormSecrets, stormOwners, grown>>10)
	if grown > 16<<20 {
		t.Errorf("%d MiB are held", grown>>20)
	}
	for by := range all {
		s.Forget(by)
	}
	if len(s.Sources.objects) != 0 {
		t.Errorf("%d sources are remembered without an observer", len(s.Sources.objects))
	}
}

// BenchmarkEvent measures an event of a Secret that no policy observes.
func BenchmarkEvent(b *testing.B) {
	s, _, _ := newStorm(b, 10)
	before, after := meta(Ref{Kind: autorebootv1.SourceSecret, Namespace: "elsewhere", Name: "a"}, 1, nil), meta(Ref{Kind: autorebootv1.SourceSecret, Namespace: "elsewhere", Name: "a"}, 2, nil)
	b.ReportAllocs()
	for b.Loop() {
		s.events.OnUpdate(before, after)
	}
}

// BenchmarkStorm is 4,000 Secrets that change at once, for 1,000 owners.
func BenchmarkStorm(b *testing.B) {
	s, e, all := newStorm(b, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		e.version++
		s.change(all, e.version)
		for _, by := range s.notified() {
			s.observe(by, all[by]...)
		}
	}
}
