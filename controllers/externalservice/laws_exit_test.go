// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// temporary are the things that an object may be under, and that end.
var temporary = map[string]func(*suite){
	"BlackHole": func(s *suite) { s.requestFault("BlackHole") },
	"FailOver":  func(s *suite) { s.requestFault("FailOver") },
	"Drain":     func(s *suite) { s.requestFault("Drain endpoint=a") },
	"being drained": func(s *suite) {
		s.must(s.store.Delete(s.Context(), s.object()))
	},
}

// exits are the ways in which an object lets go of what it publishes. Only a deleted object can be drained.
var exits = map[string]func(*suite){
	"deletionPolicy": func(s *suite) {
		s.edit(func(es *networkingv1.ExternalService) { es.Spec.DeletionPolicy = ptr.To(networkingv1.DeletionOrphan) })
		s.deleteIfThere()
	},
	"cascade": func(s *suite) {
		s.edit(func(es *networkingv1.ExternalService) {
			es.Finalizers = append(es.Finalizers, metav1.FinalizerOrphanDependents)
		})
		s.deleteIfThere()
	},
	"suspended, and orphaned": func(s *suite) {
		s.edit(func(es *networkingv1.ExternalService) {
			es.Spec.Suspend, es.Spec.DeletionPolicy = ptr.To(true), ptr.To(networkingv1.DeletionOrphan)
		})
		s.deleteIfThere()
	},
	"invalid, and orphaned": func(s *suite) {
		s.edit(func(es *networkingv1.ExternalService) {
			es.Spec.Ports[0].AppProtocol, es.Spec.DeletionPolicy = new("not valid"), ptr.To(networkingv1.DeletionOrphan)
		})
		s.deleteIfThere()
	},
	"another type, and orphaned": func(s *suite) {
		s.edit(func(es *networkingv1.ExternalService) {
			es.Spec.Service = &networkingv1.ServiceTemplate{ClusterIP: ptr.To(networkingv1.ClusterIPNone)}
			es.Spec.DeletionPolicy = ptr.To(networkingv1.DeletionOrphan)
		})
		s.deleteIfThere()
	},
	"suspended": func(s *suite) { s.edit(func(es *networkingv1.ExternalService) { es.Spec.Suspend = ptr.To(true) }) },
	"invalid": func(s *suite) {
		s.edit(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].AppProtocol = new("not valid") })
	},
}

func (s *suite) deleteIfThere() {
	if es := s.object(); es.DeletionTimestamp.IsZero() {
		s.must(s.store.Delete(s.Context(), es))
	}
}

// Law 14: whatever is temporary ends before its object lets go of what it publishes, whichever process sees it and whatever is
// refused for a while.
func TestLawAnExitUndoesWhatIsTemporary(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		thing := rapid.SampledFrom([]string{"BlackHole", "FailOver", "Drain", "being drained"}).Draw(rt, "thing")
		ways := []string{"deletionPolicy", "cascade", "suspended, and orphaned", "invalid, and orphaned", "another type, and orphaned"}
		if thing != "being drained" {
			ways = append(ways, "suspended", "invalid")
		}
		exit := rapid.SampledFrom(ways).Draw(rt, "exit")
		refused := rapid.SampledFrom(append([]string{"nothing"}, refusable...)).Draw(rt, "refused")
		s := newHealthySuite(t, rapid.SampledFrom([]string{tiered, standby}).Draw(rt, "spec"), both)
		restart := func(label string) {
			if rapid.Bool().Draw(rt, label) {
				s.restart()
			}
		}
		step := func() {
			_, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: objectKey})
			s.must(err)
			s.advance(time.Second)
		}
		if thing == "being drained" {
			s.DrainPeriod = time.Hour
		}
		temporary[thing](s)
		for range 3 {
			step()
		}
		if strings.Contains(s.published(), "192.0.2.1+") {
			rt.Fatalf("under %s %q is published", thing, s.published())
		}
		restart("before")
		s.refuses(refused)
		exits[exit](s)
		for range 2 {
			step()
		}
		restart("between")
		s.refuse = nil
		for range 5 {
			s.advance(15 * time.Second)
			if step(); strings.Contains(exit, "orphan") || exit == "deletionPolicy" || exit == "cascade" {
				if err := s.store.Get(s.Context(), objectKey, &networkingv1.ExternalService{}); err != nil {
					break
				}
			}
		}
		if got := s.published(); got != "192.0.2.1+" {
			rt.Fatalf("%s, %s, %s is refused: %q is published in the end", thing, exit, refused, got)
		}
		if got := s.reach().String(); got != "5432/TCP 192.0.2.1:5432" {
			rt.Fatal(fmt.Sprintf("%s, %s, %s is refused: clients reach %s", thing, exit, refused, got))
		}
	})
}
