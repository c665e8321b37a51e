// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// maxMessage keeps a message readable in `kubectl describe`, in bytes.
const maxMessage = 1024

// statusUpdate builds a status from the stored one, so that conditions keep their transition times.
type statusUpdate struct {
	status     networkingv1.ExternalServiceStatus
	spec       string // its digest
	generation int64
	now        metav1.Time
}

func newStatusUpdate(es *networkingv1.ExternalService, now time.Time) *statusUpdate {
	stored := es.Status
	stored.Endpoints = nil // they are replaced as a whole, never changed
	r := &statusUpdate{status: *stored.DeepCopy(), spec: specDigest(es.Spec), generation: es.Generation, now: metav1.NewTime(now)}
	r.status.Endpoints, r.status.ObservedGeneration = es.Status.Endpoints, es.Generation
	if ptr.Deref(es.Spec.Suspend, false) {
		r.setCondition(networkingv1.ConditionSuspended, metav1.ConditionTrue, networkingv1.ReasonSuspended,
			"nothing is resolved, checked or published while spec.suspend is true")
	} else {
		r.removeCondition(networkingv1.ConditionSuspended)
	}
	return r
}

// specDigest names a spec as it is stored, without suspend. Defaults are no part of it, so that one
// which a later version adds leaves it as it is.
func specDigest(spec networkingv1.ExternalServiceSpec) string {
	spec.Suspend = nil
	text, err := json.Marshal(&spec)
	if err != nil {
		return "" // no spec's
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (r *statusUpdate) setCondition(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: events.Cut(message, maxMessage),
		ObservedGeneration: r.generation, LastTransitionTime: r.now,
	})
}

// removeCondition removes a condition. Never clear and set: the condition would be a new one at each look,
// with a new time, and the status would be written for that alone.
func (r *statusUpdate) removeCondition(kind string) {
	meta.RemoveStatusCondition(&r.status.Conditions, kind)
}

// setPublished records what stands in the cluster now, and what was found outside.
func (r *statusUpdate) setPublished(es *networkingv1.ExternalService, service *corev1.Service, f *observation, d *decision, sliceCount int) {
	r.removeCondition(networkingv1.ConditionReconciling)
	r.setService(service)
	r.status.PublishedSpec = r.spec
	r.status.ActivePriority = d.active
	r.status.Endpoints = endpointStatuses(&es.Status, f.endpoints, es.Spec.HealthCheck != nil)
	r.setAddressCounts(f, d, es.Spec.HealthCheck != nil)
	r.setReady(f, d, service, sliceCount)
	r.setResolved(f)
	r.setHealthy(es, f, d)
	r.setFailedOver(f, d)
}

// setService records the Service.
func (r *statusUpdate) setService(service *corev1.Service) {
	r.status.ServiceRef = &networkingv1.ServiceReference{Name: service.Name, UID: service.UID}
	r.status.ClusterIP = service.Spec.ClusterIP
}

func (r *statusUpdate) setAddressCounts(f *observation, d *decision, checked bool) {
	counts := &networkingv1.AddressCounts{Published: int32(d.readyCount())}
	for i := range f.endpoints {
		s := &f.endpoints[i]
		counts.Total += int32(len(s.addresses))
		for j := range s.addresses {
			if a := &s.addresses[j]; a.deniedReason == "" && (!checked || a.health.State == networkingv1.AddressHealthy) {
				counts.Healthy++
			}
		}
	}
	r.status.Addresses = counts
}

// setIncomplete records that nothing is published yet, since not all names have been looked up.
func (r *statusUpdate) setIncomplete(service *corev1.Service, f *observation) {
	const message = "waiting for the first lookup of every name before anything is published or changed"
	r.setService(service)
	r.removeCondition(networkingv1.ConditionStalled)
	r.setCondition(networkingv1.ConditionReconciling, metav1.ConditionTrue, networkingv1.ReasonResolving, message)
	if meta.FindStatusCondition(r.status.Conditions, networkingv1.ConditionReady) == nil {
		r.setCondition(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses, message)
	}
	if meta.FindStatusCondition(r.status.Conditions, networkingv1.ConditionResolved) == nil {
		r.setResolved(f)
	}
}

// setConflict records that a Service of another owner has the name.
func (r *statusUpdate) setConflict(es *networkingv1.ExternalService) {
	const message = "nothing is looked up or checked while the Service cannot be published"
	r.status.ServiceRef, r.status.ClusterIP, r.status.ActivePriority = nil, "", nil
	r.status.Addresses, r.status.Endpoints, r.status.PublishedSpec = nil, nil, ""
	r.removeCondition(networkingv1.ConditionFailedOver)
	if f := r.status.Fault; f.Lasts() {
		endFault(f, networkingv1.FaultOutcomeSpecChanged, "the Service is not that of this ExternalService any more", r.now.Time)
		r.setFault(&faultDecision{status: f}, es.Annotations[networkingv1.InjectFaultAnnotation])
	}
	r.setStalled(networkingv1.ReasonServiceConflict, conflictMessage(es))
	if usesDNS(es) {
		r.setCondition(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown, message)
	} else {
		r.removeCondition(networkingv1.ConditionResolved)
	}
	if es.Spec.HealthCheck != nil {
		r.setCondition(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonUnknown, message)
	} else {
		r.removeCondition(networkingv1.ConditionHealthy)
	}
}

func usesDNS(es *networkingv1.ExternalService) bool {
	for i := range es.Spec.Endpoints {
		if es.Spec.Endpoints[i].DNS != nil {
			return true
		}
	}
	return false
}

func conflictMessage(es *networkingv1.ExternalService) string {
	return fmt.Sprintf("Service %s/%s exists and was not made for this ExternalService; it is left alone: delete it, or rename one of the two", es.Namespace, es.Name)
}

// setInvalid records that the stored spec breaks a rule. What is published stays as it is.
func (r *statusUpdate) setInvalid(errs field.ErrorList) {
	r.status.PublishedSpec = "" // Ready speaks of it no longer
	r.setStalled(networkingv1.ReasonInvalidSpec, errs.ToAggregate().Error())
}

// setStalled records that a person must act before Ready can be true.
func (r *statusUpdate) setStalled(reason, message string) {
	r.removeCondition(networkingv1.ConditionReconciling)
	r.setCondition(networkingv1.ConditionReady, metav1.ConditionFalse, reason, message)
	r.setCondition(networkingv1.ConditionStalled, metav1.ConditionTrue, reason, message)
}

// setSuspended records that nothing is done. Ready stays as it was where it speaks of this spec.
func (r *statusUpdate) setSuspended() {
	r.removeCondition(networkingv1.ConditionReconciling)
	ready := meta.FindStatusCondition(r.status.Conditions, networkingv1.ConditionReady)
	if ready != nil && ready.Reason != networkingv1.ReasonSuspended && r.spec != "" && r.spec == r.status.PublishedSpec {
		r.setCondition(networkingv1.ConditionReady, ready.Status, ready.Reason, ready.Message)
		return
	}
	r.removeCondition(networkingv1.ConditionStalled)
	r.setCondition(networkingv1.ConditionReady, metav1.ConditionUnknown, networkingv1.ReasonSuspended,
		"the spec is not published while spec.suspend is true; what was published before stays as it is")
}

// writeStatus writes what changed, if a fact did, and tells of transitions by events.
func (r *Reconciler) writeStatus(ctx context.Context, es *networkingv1.ExternalService, report *statusUpdate) error {
	if r.states.statusCacheStale(es, r.Now()) {
		return controller.ErrStale
	}
	if sameFacts(&es.Status, &report.status) {
		return nil
	}
	updated := es.DeepCopy()
	updated.Status = report.status
	patch := client.MergeFromWithOptions(es, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, updated, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	r.states.recordStatusWrite(updated, r.Now())
	r.recordEvents(es, transitions(&es.Status, &report.status))
	return nil
}

// sameFacts says whether two statuses differ in nothing but the times of lookups and checks, which
// change all the time and come along when something else does.
func sameFacts(a, b *networkingv1.ExternalServiceStatus) bool {
	if len(a.Endpoints) != len(b.Endpoints) {
		return false
	}
	for i := range a.Endpoints {
		if !sameEndpoint(&a.Endpoints[i], &b.Endpoints[i]) {
			return false
		}
	}
	x, y := *a, *b
	x.Endpoints, y.Endpoints = nil, nil
	return apiequality.Semantic.DeepEqual(&x, &y)
}

func sameEndpoint(a, b *networkingv1.EndpointStatus) bool {
	if a.Name != b.Name || a.DNSName != b.DNSName || a.Reason != b.Reason || len(a.Addresses) != len(b.Addresses) {
		return false
	}
	for i := range a.Addresses {
		x, y := &a.Addresses[i], &b.Addresses[i]
		if x.IP != y.IP || x.Port != y.Port || x.Health != y.Health || x.Reason != y.Reason || !x.Since.Equal(y.Since) {
			return false
		}
	}
	return true
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// maxStatusAddresses is how many addresses of an endpoint the status lists; the API has the same
// limit.
const maxStatusAddresses = 100

// endpointStatuses say what is known of each endpoint. What did not change stays as before says it,
// so that nothing is written for a check that merely ended in another way.
func endpointStatuses(before *networkingv1.ExternalServiceStatus, all []resolvedEndpoint, checked bool) []networkingv1.EndpointStatus {
	out := make([]networkingv1.EndpointStatus, len(all))
	for i := range all {
		s := &all[i]
		was := statusOf(before, s.Name)
		is := &out[i]
		is.Name = s.Name
		if s.state != nil {
			is.DNSName, is.Reason = s.DNS.Name, s.reason()
			is.ResolvedTime, is.NextResolveTime = statusTime(s.state.ResolvedTime), statusTime(s.state.NextTime)
		}
		if len(s.addresses) == 0 {
			continue
		}
		is.Addresses = make([]networkingv1.AddressStatus, min(len(s.addresses), maxStatusAddresses))
		for j := range is.Addresses {
			is.Addresses[j] = addressStatus(was, s, j, checked)
		}
	}
	return out
}

func addressStatus(was *networkingv1.EndpointStatus, s *resolvedEndpoint, i int, checked bool) networkingv1.AddressStatus {
	a := &s.addresses[i]
	is := networkingv1.AddressStatus{IP: a.ip.String(), Port: int32(a.srvPort)}
	switch {
	case a.deniedReason != "":
		is.Reason = networkingv1.ProbeDenied
		return is
	case !checked || s.drained:
		return is
	}
	is.Health, is.Reason = a.health.State, a.health.Reason
	is.Since, is.LastProbeTime = statusTime(a.health.Since), statusTime(a.health.LastProbe)
	before := sameAddress(was, &is, i)
	if before == nil || before.Health != is.Health {
		return is
	}
	// How the last check ended is told with a change only: an address that fails, fails now by a
	// timeout and now by a refusal.
	if before.Since != nil && (is.Health == networkingv1.AddressUnknown || before.Since.Equal(is.Since)) {
		is.Since, is.Reason = before.Since, before.Reason
	}
	return is
}

// sameAddress finds an address in the status, which most often stands where it stood.
func sameAddress(was *networkingv1.EndpointStatus, is *networkingv1.AddressStatus, i int) *networkingv1.AddressStatus {
	if was == nil {
		return nil
	}
	if i < len(was.Addresses) && was.Addresses[i].IP == is.IP && was.Addresses[i].Port == is.Port {
		return &was.Addresses[i]
	}
	for j := range was.Addresses {
		if was.Addresses[j].IP == is.IP && was.Addresses[j].Port == is.Port {
			return &was.Addresses[j]
		}
	}
	return nil
}

// reason is how the last lookup ended, and Denied where nothing of it may be published.
func (s *resolvedEndpoint) reason() string {
	if s.state == nil {
		return ""
	}
	if len(s.addresses) > 0 {
		for i := range s.addresses {
			if s.addresses[i].deniedReason == "" {
				return s.state.Reason
			}
		}
		return networkingv1.ReasonDenied
	}
	return s.state.Reason
}

// statusTime is a time as the API server stores it: in whole seconds, or not at all.
func statusTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}
