// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/failover"
	"github.com/fairlead-dev/fairlead/controllers/internal/conditions"
	"github.com/fairlead-dev/fairlead/internal/probe"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// statusUpdate builds a status from the stored one, so that conditions keep their transition times.
type statusUpdate struct {
	conditions.Update
	status networkingv1.ExternalServiceStatus
	spec   string // its digest
	// from is the active priority of the stored status, as the spec numbers it now. isStored means that the status was written,
	// or differs in nothing.
	from     *int32
	isStored bool
	// outgoing is what stays published although the spec does not choose it any more, as a message.
	outgoing string
	cause    string // why another priority is published; empty where that is not known
}

func newStatusUpdate(es *networkingv1.ExternalService, now time.Time) *statusUpdate {
	stored := es.Status
	stored.Endpoints = nil // they are replaced as a whole, never changed
	u := &statusUpdate{status: *stored.DeepCopy(), spec: specDigest(es.Spec)}
	u.Update = conditions.Update{Conditions: &u.status.Conditions, Generation: es.Generation, Now: metav1.NewTime(now)}
	u.status.Endpoints, u.status.ObservedGeneration, u.from = es.Status.Endpoints, es.Generation, es.Status.ActivePriority
	u.status.Fault = failover.StoredFault(es, now).DeepCopy()
	u.SetSuspended(ptr.Deref(es.Spec.Suspend, false), "nothing is resolved, checked or published while spec.suspend is true")
	return u
}

// before returns the stored status with its active priority as the spec numbers it now. isRemoved means that the spec does not
// have the endpoints any more that were published: the number is the former one.
func (u *statusUpdate) before(es *networkingv1.ExternalService) (before *networkingv1.ExternalServiceStatus, isRemoved bool) {
	status := es.Status
	if isRemoved = u.from != nil && *u.from == endpoints.NoPriority; !isRemoved {
		status.ActivePriority = u.from
	}
	return &status, isRemoved
}

// edits returns what of the spec was edited since the status was written. What was refused, or is not valid, has no digest.
func (u *statusUpdate) edits(es *networkingv1.ExternalService) endpoints.Edits {
	stored := es.Status.PublishedSpec
	if stored == "" {
		isEdited := es.Status.ObservedGeneration != es.Generation
		return endpoints.Edits{Any: isEdited, Check: isEdited}
	}
	_, was, _ := strings.Cut(stored, "-")
	_, is, _ := strings.Cut(u.spec, "-")
	return endpoints.Edits{Any: stored != u.spec, Check: was != is}
}

// specDigest identifies a spec as the API server returns it, without suspend and historyLimit, and after a hyphen what its health
// is of. It is made before Default. A default that a later version adds changes it with the next write of the object, when
// admission stores that default, and looks like an edit by that writer. One in the schema changes it at once.
func specDigest(spec networkingv1.ExternalServiceSpec) string {
	spec.Suspend, spec.HistoryLimit = nil, nil
	all, checked := digestOf(&spec), digestOf(checkedOf(&spec))
	return all[:32] + "-" + checked[:16]
}

// digestOf returns the hash of what was JSON before.
func digestOf(value any) string {
	text, _ := json.Marshal(value)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// checkedOf returns what the health of addresses is of: what the check sends, and the port that it goes to at each endpoint,
// whatever ports, endpoints and priorities are named.
func checkedOf(spec *networkingv1.ExternalServiceSpec) any {
	if spec.HealthCheck == nil {
		return nil
	}
	request := probe.Unnamed(&spec.HealthCheck.Check)
	port := rules.CheckedPort(spec.Ports, spec.HealthCheck.Port())
	if port == nil {
		return []any{request, spec.HealthCheck.TLS, rules.UnpublishedPort(spec)}
	}
	number := ptr.Deref(port.TargetPort, port.Port)
	own := map[string]int32{}
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		at := slices.IndexFunc(e.Ports, func(p networkingv1.EndpointPort) bool { return p.Name == port.Name })
		if at < 0 || e.Ports[at].Port == number {
			continue
		}
		for _, ip := range e.Addresses {
			own[string(ip)] = e.Ports[at].Port
		}
	}
	return []any{request, spec.HealthCheck.TLS, number, own}
}

// setPublished sets that the spec is published.
func (u *statusUpdate) setPublished(
	es *networkingv1.ExternalService, service *corev1.Service, o *failover.Observation, d *failover.Choice, sliceCount int,
	foreignSlices []string,
) {
	u.status.PublishedSpec = u.spec
	u.setReady(es, o, d, service, sliceCount, foreignSlices)
}

// setObserved sets what was observed, and what is published of it now.
func (u *statusUpdate) setObserved(es *networkingv1.ExternalService, service *corev1.Service, o *failover.Observation, d *failover.Choice) {
	u.Remove(networkingv1.ConditionReconciling)
	u.setService(service)
	u.outgoing = outgoingMessage(d)
	u.status.ActivePriority = d.Active
	u.status.Endpoints = endpointStatuses(&es.Status, o.Endpoints, es.Spec.HealthCheck != nil)
	u.setAddressCounts(o, d, es.Spec.HealthCheck != nil)
	u.setResolved(o)
	u.setHealthy(es, o, d)
	u.setFailedOver(o, d)
}

// setService sets the Service; nil is one that does not exist yet, or could not be read.
func (u *statusUpdate) setService(service *corev1.Service) {
	if service == nil {
		return
	}
	u.status.ServiceRef = &networkingv1.ServiceReference{Name: service.Name, UID: service.UID}
	u.status.ClusterIP = cmp.Or(service.Spec.ClusterIP, u.status.ClusterIP) // one that could not be read has none
}

func (u *statusUpdate) setAddressCounts(o *failover.Observation, d *failover.Choice, checked bool) {
	counts := &networkingv1.AddressCounts{Published: int32(d.ReadyCount())}
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		counts.Total += int32(len(e.Addresses))
		for j := range e.Addresses {
			if a := &e.Addresses[j]; a.DeniedReason == "" && (!checked || a.Health.State == networkingv1.AddressHealthy) {
				counts.Healthy++
			}
		}
	}
	u.status.Addresses = counts
}

// setIncomplete sets that nothing is published yet, since not all names were looked up.
func (u *statusUpdate) setIncomplete(service *corev1.Service, o *failover.Observation) {
	const message = "waiting for the first lookup of every name before anything is published or changed"
	u.setService(service)
	u.Remove(networkingv1.ConditionStalled)
	u.Set(networkingv1.ConditionReconciling, metav1.ConditionTrue, networkingv1.ReasonResolving, message)
	if meta.FindStatusCondition(u.status.Conditions, networkingv1.ConditionReady) == nil {
		u.Set(networkingv1.ConditionReady, metav1.ConditionFalse, networkingv1.ReasonNoAddresses, message)
	}
	if meta.FindStatusCondition(u.status.Conditions, networkingv1.ConditionResolved) == nil {
		u.setResolved(o)
	}
}

// setConflict sets that a Service of another owner has the name.
func (u *statusUpdate) setConflict(es *networkingv1.ExternalService, orphaned bool) {
	const unobserved = "nothing is looked up or checked while the Service cannot be published"
	u.status.ServiceRef, u.status.ClusterIP, u.status.ActivePriority = nil, "", nil
	u.status.Addresses, u.status.Endpoints, u.status.PublishedSpec = nil, nil, ""
	if u.status.Fault.Lasts() {
		u.endFault(es, "the Service is not that of this ExternalService any more")
	}
	u.setStalled(networkingv1.ReasonServiceConflict, conflictMessage(es, orphaned))
	if slices.ContainsFunc(es.Spec.Endpoints, func(e networkingv1.Endpoint) bool { return e.DNS != nil }) {
		u.Set(networkingv1.ConditionResolved, metav1.ConditionUnknown, networkingv1.ReasonUnknown, unobserved)
	} else {
		u.setStatic()
	}
	u.Set(networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonUnknown, unobserved)
	u.Set(networkingv1.ConditionFailedOver, metav1.ConditionFalse, networkingv1.ReasonNothingPublished, nothingPublished)
}

func conflictMessage(es *networkingv1.ExternalService, orphaned bool) string {
	if orphaned {
		return fmt.Sprintf("Service %s/%s was orphaned by an earlier ExternalService, and is left alone: annotate this one with %s: \"true\" to take it over, delete it, or rename one of the two",
			es.Namespace, es.Name, networkingv1.AdoptServiceAnnotation)
	}
	return fmt.Sprintf("Service %s/%s exists and was not made for this ExternalService; it is left alone: delete it, or rename one of the two", es.Namespace, es.Name)
}

// setInvalid sets that the stored spec is not valid. What is published stays as it is.
func (u *statusUpdate) setInvalid(errs field.ErrorList) {
	u.status.PublishedSpec = "" // Ready is not about it any more
	u.setStalled(networkingv1.ReasonInvalidSpec, errs.ToAggregate().Error())
}

// setStalled sets that a person must act before Ready can be true.
func (u *statusUpdate) setStalled(reason, message string) {
	u.Remove(networkingv1.ConditionReconciling)
	u.Set(networkingv1.ConditionReady, metav1.ConditionFalse, reason, message)
	u.Set(networkingv1.ConditionStalled, metav1.ConditionTrue, reason, message)
}

// setSuspended sets that nothing is done. What is about this spec stays as it was, and is of this generation.
func (u *statusUpdate) setSuspended() {
	u.Remove(networkingv1.ConditionReconciling)
	u.Keep(networkingv1.ConditionFailedOver)
	ready := meta.FindStatusCondition(u.status.Conditions, networkingv1.ConditionReady)
	isEdited := ready == nil || ready.Status == metav1.ConditionUnknown || u.spec != u.status.PublishedSpec
	if !isEdited {
		for _, kind := range []string{networkingv1.ConditionReady, networkingv1.ConditionResolved, networkingv1.ConditionHealthy} {
			u.Keep(kind)
		}
		if ready.Status == metav1.ConditionTrue {
			u.Set(networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonSuspended, ready.Message)
		}
		return
	}
	for _, kind := range []string{networkingv1.ConditionResolved, networkingv1.ConditionHealthy} {
		u.Set(kind, metav1.ConditionUnknown, networkingv1.ReasonSuspended, "nothing is looked up or checked while spec.suspend is true")
	}
	u.Remove(networkingv1.ConditionStalled)
	u.Set(networkingv1.ConditionReady, metav1.ConditionUnknown, networkingv1.ReasonSuspended,
		"the spec is not published while spec.suspend is true; what was published before stays as it is")
}

// maxStatusAddresses limits the addresses of an endpoint in the status, as the API does.
const maxStatusAddresses = 100

// endpointStatuses returns the status of each endpoint. What has not changed stays as it is in before, so that
// a check which fails for another reason causes no write.
func endpointStatuses(before *networkingv1.ExternalServiceStatus, all []endpoints.Endpoint, checked bool) []networkingv1.EndpointStatus {
	out := make([]networkingv1.EndpointStatus, len(all))
	for i := range all {
		e := &all[i]
		was := endpoints.StatusOf(before, e.Name)
		is := &out[i]
		is.Name = e.Name
		if e.State != nil {
			is.DNSName, is.Reason = e.DNS.Name, e.Reason()
			is.ResolvedTime, is.NextResolveTime = failover.StatusTime(e.State.ResolvedTime), failover.StatusTime(e.State.NextTime)
		}
		if len(e.Addresses) == 0 {
			continue
		}
		is.Addresses = make([]networkingv1.AddressStatus, min(len(e.Addresses), maxStatusAddresses))
		for j := range is.Addresses {
			is.Addresses[j] = addressStatus(was, e, j, checked)
		}
	}
	return out
}

func addressStatus(was *networkingv1.EndpointStatus, e *endpoints.Endpoint, i int, checked bool) networkingv1.AddressStatus {
	a := &e.Addresses[i]
	is := networkingv1.AddressStatus{IP: a.IP.String(), Port: int32(a.SRVPort)}
	switch {
	case a.DeniedReason != "":
		is.Reason = networkingv1.ProbeDenied
		return is
	case !checked || e.IsDrained:
		return is
	}
	is.Health, is.Reason = a.Health.State, a.Health.Reason
	is.LastTransitionTime, is.LastProbeTime = failover.StatusTime(a.Health.Since), failover.StatusTime(a.Health.LastProbe)
	before := sameAddress(was, &is, i)
	if before == nil || before.Health != is.Health {
		return is
	}
	if before.LastTransitionTime != nil &&
		(is.Health == networkingv1.AddressUnknown || before.LastTransitionTime.Equal(is.LastTransitionTime)) {
		is.LastTransitionTime = before.LastTransitionTime
		if is.Health != networkingv1.AddressUnhealthy || is.Reason == "" { // else the prober says which reason lasts
			is.Reason = before.Reason
		}
	}
	return is
}

// sameAddress returns an address of the status, which most often is at the same index.
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
