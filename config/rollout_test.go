// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/webhooks/server"
)

// conversionTimeout is how long the API server waits for a conversion, which cannot be changed
// (k8s.io/apiserver/pkg/util/webhook, defaultRequestTimeout).
const conversionTimeout = 30 * time.Second

func deployment(t *testing.T, path string) appsv1.DeploymentSpec {
	t.Helper()
	var d appsv1.Deployment
	read(t, path, &d)
	return d.Spec
}

// serving are the Deployments whose pods serve webhooks, one of them where it is all that there is, and
// the budgets of both.
var serving = map[string]string{
	"manager/deployment.yaml":       "manager/pod_disruption_budget.yaml",
	"split/webhook_deployment.yaml": "split/webhook_pod_disruption_budget.yaml",
}

// Each of these times is above the one before it, or a replica is killed, or unknown to a client, in
// the midst of a request.
func TestTheTimesOfARolloutFitIntoEachOther(t *testing.T) {
	for path := range serving {
		t.Run(path, func(t *testing.T) { checkTimes(t, deployment(t, path)) })
	}
}

func checkTimes(t *testing.T, d appsv1.DeploymentSpec) {
	t.Helper()
	c := shipped(t, d.Template.Spec.Containers[0].Args...)
	delay, drain := c.Webhook.DrainDelay.Duration, c.Webhook.DrainTimeout.Duration
	stop := c.GracefulShutdownTimeout.Duration
	grace := time.Duration(*d.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	for _, order := range []struct {
		less, more time.Duration
		why        string
	}{
		{conversionTimeout, drain, "drainTimeout must let a conversion finish that began last"},
		{delay + drain, stop, "gracefulShutdownTimeout must hold the whole drain"},
		{stop, grace, "terminationGracePeriodSeconds must hold the whole stop"},
		{delay + conversionTimeout, grace, "terminationGracePeriodSeconds must hold the delay and a conversion"},
		{delay, time.Duration(d.MinReadySeconds)*time.Second + 1, "minReadySeconds must be as long as endpoints take to be known, which is what drainDelay waits for"},
		{conversionTimeout, server.ReadTimeout, "the server must not end a request that the API server still waits for"},
		{server.ReadTimeout, server.WriteTimeout, "an answer must have time after its request was read"},
		{conversionTimeout, server.DefaultDrainTimeout, "the default drain must let a conversion finish"},
	} {
		if order.less >= order.more {
			t.Errorf("%s: %s is not below %s", order.why, order.less, order.more)
		}
	}
	if delay < server.DefaultDrainDelay {
		t.Errorf("drainDelay is %s, and endpoints take up to %s to be known", delay, server.DefaultDrainDelay)
	}
	for _, container := range d.Template.Spec.Containers {
		if container.Lifecycle != nil {
			t.Errorf("container %s has a hook: the process drains by itself, and a hook would take its time from that", container.Name)
		}
	}
}

func TestARolloutAndADrainOfNodesLeaveAReplica(t *testing.T) {
	for path, budget := range serving {
		t.Run(path, func(t *testing.T) { checkRollout(t, deployment(t, path), budget) })
	}
}

func checkRollout(t *testing.T, d appsv1.DeploymentSpec, budgeted string) {
	t.Helper()
	if *d.Replicas < 2 {
		t.Errorf("%d replicas", *d.Replicas)
	}
	update := d.Strategy.RollingUpdate
	if update == nil || *update.MaxUnavailable != intstr.FromInt32(0) || update.MaxSurge.IntValue() < 1 {
		t.Errorf("the strategy %+v lets a replica go before its successor is there", d.Strategy)
	}
	var budget policyv1.PodDisruptionBudget
	read(t, budgeted, &budget)
	if most := budget.Spec.MaxUnavailable; most == nil || most.IntValue() >= int(*d.Replicas) || most.IntValue() < 1 {
		t.Errorf("the budget lets %v of %d replicas go", most, *d.Replicas)
	}
	if p := budget.Spec.UnhealthyPodEvictionPolicy; p == nil || *p != policyv1.AlwaysAllow {
		t.Errorf("a replica that is not ready holds up the drain of its node")
	}
	var class schedulingv1.PriorityClass
	read(t, "manager/priority_class.yaml", &class)
	if d.Template.Spec.PriorityClassName != class.Name || class.GlobalDefault || class.Value > 1_000_000_000 {
		t.Errorf("pods have the class %q, and there is %q of value %d", d.Template.Spec.PriorityClassName, class.Name, class.Value)
	}
	spread := d.Template.Spec.TopologySpreadConstraints
	if len(spread) == 0 || spread[0].TopologyKey != corev1.LabelHostname || spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway {
		t.Errorf("replicas are spread by %+v", spread)
	}
	for _, s := range spread {
		selects(t, "topologySpreadConstraints", s.LabelSelector, d)
	}
	selects(t, "the Deployment", d.Selector, d)
	selects(t, "the PodDisruptionBudget", budget.Spec.Selector, d)
}

// selects demands that a selector means the operator's pods.
func selects(t *testing.T, what string, selector *metav1.LabelSelector, d appsv1.DeploymentSpec) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || s.Empty() || !s.Matches(labels.Set(d.Template.Labels)) {
		t.Errorf("%s selects %s, and the pods are labeled %v (%v)", what, s, d.Template.Labels, err)
	}
}

func TestEveryPortHasOneNumberAndOneName(t *testing.T) {
	for path := range serving {
		t.Run(path, func(t *testing.T) {
			d := deployment(t, path)
			checkPorts(t, d)
			checkServices(t, d, map[string]string{"manager/webhook_service.yaml": "webhook", "manager/metrics_service.yaml": "metrics"})
		})
	}
}

func checkPorts(t *testing.T, d appsv1.DeploymentSpec) {
	t.Helper()
	c := shipped(t, d.Template.Spec.Containers[0].Args...)
	listens := map[string]int{}
	if c.Webhook.Enabled {
		listens["webhook"] = c.Webhook.Port
	}
	for name, address := range map[string]string{"metrics": c.Metrics.BindAddress, "probes": c.Health.BindAddress} {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if listens[name], err = strconv.Atoi(port); err != nil {
			t.Fatal(err)
		}
	}
	container := d.Template.Spec.Containers[0]
	for _, port := range container.Ports {
		if listens[port.Name] != int(port.ContainerPort) {
			t.Errorf("the container calls %d %q, where the operator listens on %d", port.ContainerPort, port.Name, listens[port.Name])
		}
	}
	if len(container.Ports) != len(listens) {
		t.Errorf("the container has %d ports, and the operator listens on %d", len(container.Ports), len(listens))
	}
	for name, probe := range map[string]*corev1.Probe{"startup": container.StartupProbe, "liveness": container.LivenessProbe, "readiness": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal != "probes" {
			t.Errorf("the %s probe does not ask the port of probes", name)
		}
	}
	if container.ReadinessProbe.HTTPGet.Path != "/readyz" || container.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Error("readiness and liveness ask for other things than they mean")
	}
	patience := time.Duration(container.StartupProbe.PeriodSeconds*container.StartupProbe.FailureThreshold) * time.Second
	if wait := c.ClientConnection.StartTimeout.Duration; patience < wait {
		t.Errorf("the startup probe ends the pod after %s, and the operator waits %s for the API server", patience, wait)
	}
}

// checkServices demands that Services lead to the pods, each to a port of that name.
func checkServices(t *testing.T, d appsv1.DeploymentSpec, services map[string]string) {
	t.Helper()
	for file, name := range services {
		var service corev1.Service
		read(t, file, &service)
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(d.Template.Labels)) || service.Spec.Ports[0].TargetPort.StrVal != name {
			t.Errorf("%s leads to %v at %v", file, service.Spec.Selector, service.Spec.Ports)
		}
	}
}

func TestTheNetworkPoliciesOpenTheWebhooksAndTheMetricsAlone(t *testing.T) {
	open := map[string]string{}
	for _, file := range []string{"network-policy/allow_webhook_traffic.yaml", "network-policy/allow_metrics_traffic.yaml"} {
		var policy networkingv1.NetworkPolicy
		read(t, file, &policy)
		for path := range serving {
			selects(t, file, &policy.Spec.PodSelector, deployment(t, path))
		}
		if len(policy.Spec.PolicyTypes) != 1 || policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
			t.Errorf("%s is of types %v: outgoing traffic is the egress policy's", file, policy.Spec.PolicyTypes)
		}
		for _, rule := range policy.Spec.Ingress {
			if len(rule.Ports) == 0 {
				t.Errorf("%s opens every port", file)
			}
			for _, port := range rule.Ports {
				open[port.Port.String()] = fmt.Sprintf("from %d", len(rule.From))
			}
		}
	}
	if len(open) != 2 || open["webhook"] != "from 0" || open["metrics"] != "from 1" {
		t.Errorf("open are %v", open)
	}
}

// The API server waits for a webhook no longer than the webhook works on an answer, and no request of
// its own ends meanwhile.
func TestEveryWebhookFailsClosedWithinSeconds(t *testing.T) {
	for name, w := range webhooks(t) {
		if w.FailurePolicy == nil || *w.FailurePolicy != admissionv1.Fail {
			t.Errorf("%s: failurePolicy is not Fail: what no other rule sees would be stored", name)
		}
		// Reviews of rights take up to 3 s (webhooks/admission/authorization), and the default of 10 s would
		// hold a writer, and its slot of the API server, for a replica that has died.
		if seconds := w.TimeoutSeconds; seconds == nil || *seconds < 4 || *seconds >= 10 {
			t.Errorf("%s: timeoutSeconds is not from 4 to 9", name)
		}
	}
}
