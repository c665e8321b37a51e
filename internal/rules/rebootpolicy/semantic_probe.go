// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// probeSemantics checks that a request can be built from the probe, and that no more than the one
// request that it shows can be smuggled into it.
func probeSemantics(path rules.Path, p *autorebootv1.Probe) field.ErrorList {
	errs := positive(path.Child("timeout"), p.Timeout)
	if h := p.HTTPGet; h != nil {
		at := path.Child("httpGet")
		errs = append(errs, host(at.Child("host"), h.Host)...)
		errs = append(errs, requestPath(at.Child("path"), h.Path)...)
		for i, header := range h.Headers {
			errs = append(errs, reasons(at.Child("headers").Index(i).Child("name"), header.Name, validation.IsHTTPHeaderName)...)
			if strings.ContainsFunc(header.Value, control) {
				errs = append(errs, field.Invalid(at.Child("headers").Index(i).Child("value").Field(), header.Value, "must not contain control characters"))
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

// host is an IP address or a DNS name. Whether it may be asked is the egress policy's to say, at
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

// control tells the characters that a header's value must not hold (RFC 9110, section 5.5).
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
