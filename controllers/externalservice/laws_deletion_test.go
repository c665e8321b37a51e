// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// injectFault has a fault begin now, for half a minute.
func (l *life) injectFault(what string) {
	es := l.object()
	request := fmt.Sprintf("%s for=30s at=%s", what, time.Now().UTC().Format(time.RFC3339))
	metav1.SetMetaDataAnnotation(&es.ObjectMeta, networkingv1.InjectFaultAnnotation, request)
	l.must(l.store.Update(l.Context(), es))
	l.due = time.Now()
}

// deleteObject deletes the object, as a user does, and its Service with it unless that is to be orphaned.
func (l *life) deleteObject(orphan bool) {
	es := l.object()
	if !es.DeletionTimestamp.IsZero() {
		return
	}
	service := l.storedService()
	l.orphaned = orphan || service != nil && service.Annotations[rules.OwnerAnnotation] == ""
	if orphan {
		l.edit(func(es *networkingv1.ExternalService) { es.Spec.DeletionPolicy = new(networkingv1.DeletionOrphan) })
	}
	l.must(l.store.Delete(l.Context(), es))
	l.due = time.Now()
}

// createObject creates an object of the same name, unless it is there, which may adopt a Service.
func (l *life) createObject(spec string, adopt bool) {
	if l.stored() != nil {
		return
	}
	l.objects++
	es := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{
		Namespace: objectKey.Namespace, Name: objectKey.Name, UID: types.UID(fmt.Sprint("new ", l.objects)), Generation: 1,
	}}
	if adopt {
		es.Annotations = map[string]string{networkingv1.AdoptServiceAnnotation: "true"}
	}
	es.Spec = parseSpec(l.TB, spec)
	l.must(l.store.Create(l.Context(), es))
	l.due = time.Now()
}

// storedService returns the Service of the object's name, or nil.
func (l *life) storedService() *corev1.Service {
	service := &corev1.Service{}
	if err := l.store.Get(l.Context(), objectKey, service); !apierrors.IsNotFound(err) {
		l.must(err)
		return service
	}
	return nil
}

// checkDeleted requires that an object that was deleted a minute ago, while nothing is refused, is gone, and that its
// Service went with it, or stays as it was where it is orphaned.
func (r *refuser) checkDeleted() {
	es, service := r.stored(), r.storedService()
	switch {
	case len(r.beginnings) > 0:
	case es != nil:
		r.fail("the object is still there, with the finalizers %v and the conditions %+v", es.Finalizers, es.Status.Conditions)
	case !r.orphaned && (service != nil || r.published() != ""):
		r.fail("the Service or its slices are left: %q", r.published())
	case r.orphaned && service != nil && (service.Annotations[rules.OwnerAnnotation] != "" || strings.Contains(r.published(), "terminating")):
		r.fail("an orphaned Service belongs to %q, with %q", service.Annotations[rules.OwnerAnnotation], r.published())
	}
}

// Law 10: whatever is deleted and created again, at any step of a failover or of a fault, and whatever is refused
// meanwhile, a Service goes or stays as it was promised, and a new object is in the end as one that never had another
// before it.
func TestLawADeletionKeepsWhatItPromises(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "delete", "delete", "create", "create", "refuse", "lift", "down", "same", "fault", "pause", "restart")
		spec := ""
		l, conditions := liveFrom(t, time.Millisecond, lawRest+sameForms[0], history, func(l *life) {
			newRefuser(l)
			l.ended = func() {
				l.set(func() { clear(l.down) })
				text, err := yaml.Marshal(l.object().Spec)
				l.must(err)
				spec = string(text)
			}
		})
		ready := l.readyAt(day)
		if strings.Contains(conditions, "Ready=False/"+networkingv1.ReasonServiceConflict) && l.orphaned {
			return // it says so, and leaves the Service alone
		}
		fresh, expected := liveFrom(t, time.Millisecond, spec, nil, func(*life) {})
		conditions = strings.ReplaceAll(conditions, "FaultInjected=False/FaultEnded ", "FaultInjected=False/NoFaultRequested ")
		conditions = strings.ReplaceAll(conditions, "FaultInjected=False/FaultRefused ", "FaultInjected=False/NoFaultRequested ")
		if l.gap != "" || conditions != expected || !slices.Equal(ready, fresh.readyAt(day)) {
			rt.Fatalf("%s; in the end %v %s, and a new object %v %s", l.gap, ready, conditions, fresh.readyAt(day), expected)
		}
	})
}

// Law 10 has found this: what was orphaned stays as it is, also while an address of it fails, until a new object adopts it.
func TestAnOrphanedServiceIsLeftAloneUntilItIsAdopted(t *testing.T) {
	const settles = 5 * time.Minute
	orphan := []step{{"delete", 1, time.Second}, {"create", 16, time.Second}, {"down", 1, settles}}
	adopt := []step{{"delete", 12, time.Second}, {"create", 191, settles}}
	for what, test := range map[string]struct {
		history []step
		want    []string
	}{
		"not adopted": {orphan, []string{lawA1, lawA2}},
		"adopted":     {slices.Concat(orphan, adopt), []string{lawA2}},
	} {
		l, conditions := liveFrom(t, time.Millisecond, lawRest+sameForms[0], test.history, func(l *life) { newRefuser(l) })
		if ready := l.readyAt(day); l.gap != "" || !slices.Equal(ready, test.want) {
			t.Errorf("%s: %s; in the end %v, %s", what, l.gap, ready, conditions)
		}
	}
}

// Law 10 has found this: an object that is deleted before it has the finalizer leaves no Service.
func TestNothingIsPublishedBeforeTheFinalizerIsThere(t *testing.T) {
	history := []step{
		{"delete", 0, 10 * time.Second}, {"refuse", 108, time.Second}, {"create", 87, 10 * time.Second}, {"lift", 0, 0}, {"delete", 6, 5 * time.Minute},
	}
	if l, conditions := liveFrom(t, time.Millisecond, lawRest+sameForms[0], history, func(l *life) { newRefuser(l) }); l.gap != "" {
		t.Errorf("%s; in the end %s", l.gap, conditions)
	}
}
