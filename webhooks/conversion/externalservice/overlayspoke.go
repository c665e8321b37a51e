// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// overlaySpoke carries an edit of the hub onto the saved spoke form: every field whose view
// changed is taken from the new view, every other one stays as the spoke had it.
func overlaySpoke(saved spoke, before, after hub) spoke {
	was, is := down(before), down(after)
	take(&saved.Spec.Hosts, was.Spec.Hosts, is.Spec.Hosts)
	take(&saved.Spec.Ports, was.Spec.Ports, is.Spec.Ports)
	take(&saved.Spec.RefreshSeconds, was.Spec.RefreshSeconds, is.Spec.RefreshSeconds)
	take(&saved.Status, was.Status, is.Status)
	if saved.Spec.Probe == nil || was.Spec.Probe == nil || is.Spec.Probe == nil {
		take(&saved.Spec.Probe, was.Spec.Probe, is.Spec.Probe)
		return saved
	}
	probe := *saved.Spec.Probe
	overlayProbeView(&probe, was.Spec.Probe, is.Spec.Probe)
	saved.Spec.Probe = &probe
	return saved
}

func overlayProbeView(probe, was, is *v1alpha1.Probe) {
	take(&probe.TCPSocket, was.TCPSocket, is.TCPSocket)
	overlayGetView(probe, was.HTTPGet, is.HTTPGet)
	take(&probe.GRPC, was.GRPC, is.GRPC)
	take(&probe.PeriodSeconds, was.PeriodSeconds, is.PeriodSeconds)
	take(&probe.TimeoutSeconds, was.TimeoutSeconds, is.TimeoutSeconds)
	take(&probe.SuccessThreshold, was.SuccessThreshold, is.SuccessThreshold)
	take(&probe.FailureThreshold, was.FailureThreshold, is.FailureThreshold)
}

func overlayGetView(probe *v1alpha1.Probe, was, is *v1alpha1.HTTPGetAction) {
	if probe.HTTPGet == nil || was == nil || is == nil {
		take(&probe.HTTPGet, was, is)
		return
	}
	get := *probe.HTTPGet
	take(&get.Port, was.Port, is.Port)
	take(&get.Path, was.Path, is.Path)
	take(&get.Host, was.Host, is.Host)
	take(&get.Scheme, was.Scheme, is.Scheme)
	probe.HTTPGet = &get
}

func take[T any](value *T, was, is T) {
	if !equality.Semantic.DeepEqual(was, is) {
		*value = is
	}
}
