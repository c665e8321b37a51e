// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func probe(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := oneHandler(path, p)
	if h := p.HTTPGet; h != nil {
		errs = append(errs, httpGet(path.Child("httpGet"), h)...)
	}
	if s := p.TCPSocket; s != nil {
		errs = append(errs, hostPort(path.Child("tcpSocket"), s.Host, s.Port)...)
	}
	if g := p.GRPC; g != nil {
		errs = append(errs, hostPort(path.Child("grpc"), g.Host, g.Port)...)
		errs = append(errs, rules.Text(path.Child("grpc", "service"), g.Service, 0, 253)...)
	}
	if e := p.Exec; e != nil {
		command := path.Child("exec", "command")
		errs = append(errs, rules.Text(path.Child("exec", "container"), e.Container, 0, 63)...)
		errs = append(errs, rules.Items(command, len(e.Command), 1, 64)...)
		for i, arg := range rules.Within(e.Command, 64) {
			errs = append(errs, rules.Text(command.Index(i), arg, 0, 1024)...)
		}
	}
	errs = append(errs, ordered(path, "timeout", p.Timeout, "period", p.Period)...)
	if p.Period != nil && p.Period.Or(time.Second) < time.Second {
		errs = append(errs, field.Invalid(path.Child("period").Field(), string(*p.Period), "period must be at least 1s"))
	}
	errs = append(errs, rules.OptionalRange(path.Child("failureThreshold"), p.FailureThreshold, 1, 100)...)
	errs = append(errs, rules.OptionalRange(path.Child("successThreshold"), p.SuccessThreshold, 1, 100)...)
	return append(errs, rules.IntOrPercent(path.Child("minUnhealthy"), p.MinUnhealthy)...)
}

// oneHandler names the handlers that are set, so that an error distinguishes none from too many.
func oneHandler(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	var handlers []string
	for _, h := range []struct {
		name string
		set  bool
	}{{"httpGet", p.HTTPGet != nil}, {"tcpSocket", p.TCPSocket != nil}, {"grpc", p.GRPC != nil}, {"exec", p.Exec != nil}} {
		if h.set {
			handlers = append(handlers, h.name)
		}
	}
	if len(handlers) == 1 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), strings.Join(handlers, ", "), "set exactly one of httpGet, tcpSocket, grpc, exec")}
}

func httpGet(path rules.Path, h *autorebootv1.HTTPGet) field.ErrorList {
	errs := hostPort(path, h.Host, h.Port)
	errs = append(errs, rules.OptionalText(path.Child("path"), h.Path, 0, 1024)...)
	errs = append(errs, rules.RequestPath(path.Child("path"), h.Path)...)
	errs = append(errs, rules.OptionalEnum(path.Child("scheme"), h.Scheme, autorebootv1.SchemeHTTP, autorebootv1.SchemeHTTPS)...)
	headers := path.Child("headers")
	errs = append(errs, rules.Items(headers, len(h.Headers), 0, 16)...)
	listed := rules.Within(h.Headers, 16)
	for i, header := range listed {
		errs = append(errs, rules.Text(headers.Index(i).Child("name"), header.Name, 1, 256)...)
		errs = append(errs, rules.Text(headers.Index(i).Child("value"), header.Value, 0, 1024)...)
	}
	return append(errs, unique(len(listed),
		func(i int) string { return listed[i].Name },
		func(i int) rules.Path { return headers.Index(i).Child("name") })...)
}

func hostPort(path rules.Path, host string, port int32) field.ErrorList {
	errs := rules.Text(path.Child("host"), host, 0, 253)
	switch {
	case port == 0:
		// What happens to a port's name that v1alpha1 gives.
		errs = append(errs, field.Invalid(path.Child("port").Field(), port,
			"must be between 1 and 65535: v1 takes numbers alone, so give the number of a port that has a name"))
	case port < 0 || port > 65535:
		errs = append(errs, field.Invalid(path.Child("port").Field(), port, "must be between 1 and 65535"))
	}
	return errs
}

// probeSemantics checks that a request can be built from the probe, and that no more than the one
// request that it shows can be smuggled into it.
func probeSemantics(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	errs := rules.Positive(path.Child("timeout"), p.Timeout)
	if h := p.HTTPGet; h != nil {
		at := path.Child("httpGet")
		errs = append(errs, host(at.Child("host"), h.Host)...)
		errs = append(errs, requestPath(at.Child("path"), h.Path)...)
		for i, header := range h.Headers {
			errs = append(errs, rules.Reasons(at.Child("headers").Index(i).Child("name"), header.Name, validation.IsHTTPHeaderName)...)
			if strings.ContainsFunc(header.Value, control) {
				errs = append(errs, field.Invalid(at.Child("headers").Index(i).Child("value").Field(), header.Value,
					"must not contain control characters"))
			}
		}
	}
	if s := p.TCPSocket; s != nil {
		errs = append(errs, host(path.Child("tcpSocket", "host"), s.Host)...)
	}
	if g := p.GRPC; g != nil {
		errs = append(errs, host(path.Child("grpc", "host"), g.Host)...)
	}
	if e := p.Exec; e != nil {
		errs = append(errs, label(path.Child("exec", "container"), e.Container)...)
	}
	return errs
}

// host is an IP address or a DNS name. Whether it may be connected to, the egress policy decides at
// each request.
func host(path rules.Path, name string) field.ErrorList {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	return subdomain(path, name)
}

func requestPath(path rules.Path, target *string) field.ErrorList {
	if target == nil || !strings.HasPrefix(*target, "/") {
		return nil
	}
	if _, err := url.ParseRequestURI(*target); err != nil {
		return field.ErrorList{field.Invalid(path.Field(), *target, "must be the path of a URL, with reserved characters escaped")}
	}
	return nil
}

// control reports whether a character is one that a header's value must not hold (RFC 9110, section 5.5).
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
