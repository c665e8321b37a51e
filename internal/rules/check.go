// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// CheckDefaults are the defaults of a check that differ by its use.
type CheckDefaults struct {
	Interval, Timeout                  common.Duration
	SuccessThreshold, FailureThreshold int32
}

var (
	// HealthCheckDefaults are the defaults for an ExternalService.
	HealthCheckDefaults = CheckDefaults{Interval: "10s", Timeout: "2s", SuccessThreshold: 2, FailureThreshold: 3}
	// ProbeDefaults are the defaults for a trigger of a RebootPolicy.
	ProbeDefaults = CheckDefaults{Interval: "30s", Timeout: "5s", SuccessThreshold: 1, FailureThreshold: 5}
	// VerificationProbeDefaults are the defaults for verification.probes, whose results count one by one.
	VerificationProbeDefaults = CheckDefaults{Interval: "1s", Timeout: "1s", SuccessThreshold: 1, FailureThreshold: 1}
)

// DefaultCheck sets the defaults of a check. It does not set a port: that of an ExternalService would become wrong when
// its only port is renamed.
func DefaultCheck(c *common.Check, by CheckDefaults) {
	if h := c.HTTPGet; h != nil {
		SetDefault(&h.Path, "/")
		scheme := common.SchemeHTTP
		if c.TLS != nil {
			scheme = common.SchemeHTTPS
		}
		SetDefault(&h.Scheme, scheme)
	}
	if c.TLS != nil {
		SetDefault(&c.TLS.InsecureSkipVerify, false)
	}
	SetOrdered(&c.Timeout, by.Timeout, &c.Interval, by.Interval)
	SetDefault(&c.SuccessThreshold, by.SuccessThreshold)
	SetDefault(&c.FailureThreshold, by.FailureThreshold)
}

// SetOrdered sets the defaults of two spans, low and high, where low must not exceed high. If one span is given and
// contradicts the default of the other, the other gets the value that is given.
func SetOrdered(low **common.Duration, lowDefault common.Duration, high **common.Duration, highDefault common.Duration) {
	if *low == nil && *high != nil && (*high).Or(math.MaxInt64) < lowDefault.Or(0) {
		lowDefault = **high
	}
	if *high == nil && *low != nil && (*low).Or(0) > highDefault.Or(0) {
		highDefault = **low
	}
	SetDefault(low, lowDefault)
	SetDefault(high, highDefault)
}

var (
	// authorityPattern matches a host name, an IPv4 or a bracketed IPv6 literal, each with or without a port. It excludes
	// characters that could end the header in which it is sent.
	authorityPattern = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

	printable = regexp.MustCompile(`^[\x21-\x7e]*$`)
)

// Check checks that a check makes exactly one valid request, which cannot hide a second one. outside describes a target
// outside of the cluster's pods, and is empty for pods: outside, no credentials may be sent.
func Check(path Path, c *common.Check, outside string) field.ErrorList {
	var errs field.ErrorList
	if c.Timeout != nil && c.Timeout.Or(time.Millisecond) < time.Millisecond {
		errs = append(errs, field.Invalid(path.Child("timeout").Field(), string(*c.Timeout), "must be at least 1ms"))
	}
	if c.TCPSocket != nil {
		errs = append(errs, tcpSteps(path.Child("tcpSocket", "steps"), c.TCPSocket.Steps)...)
	}
	if h := c.HTTPGet; h != nil {
		at := path.Child("httpGet")
		errs = append(errs, requestPath(at.Child("path"), h.Path)...)
		errs = append(errs, authority(at.Child("hostHeader"), ptr.Deref(h.HostHeader, ""))...)
		if c.TLS != nil && ptr.Deref(h.Scheme, common.SchemeHTTPS) == common.SchemeHTTP {
			errs = append(errs, field.Invalid(at.Child("scheme").Field(), string(*h.Scheme), "tls goes with scheme HTTPS"))
		}
		errs = append(errs, requestHeaders(at.Child("httpHeaders"), h, outside)...)
	}
	if g := c.GRPC; g != nil {
		errs = append(errs, authority(path.Child("grpc", "authority"), ptr.Deref(g.Authority, ""))...)
		if g.Service != nil && !printable.MatchString(*g.Service) {
			errs = append(errs, field.Invalid(path.Child("grpc", "service").Field(), *g.Service, "must be printable ASCII without spaces"))
		}
	}
	if t := c.TLS; t != nil {
		errs = append(errs, Reasons(path.Child("tls", "caSecretName"), t.CASecretName, validation.IsDNS1123Subdomain)...)
		errs = append(errs, Reasons(path.Child("tls", "clientCertificateSecretName"), t.ClientCertificateSecretName,
			validation.IsDNS1123Subdomain)...)
		name := ptr.Deref(t.ServerName, "")
		if _, err := netip.ParseAddr(name); err != nil {
			errs = append(errs, Reasons(path.Child("tls", "serverName"), strings.ToLower(name), validation.IsDNS1123Subdomain)...)
		}
	}
	return errs
}

// tcpSteps requires texts whose escapes are those of Go strings, and names that a Secret can have.
func tcpSteps(path Path, steps []common.TCPStep) field.ErrorList {
	errs := TooMany(path, len(steps))
	for i := range Within(steps) {
		at, s := path.Index(i), &steps[i]
		errs = append(errs, escaped(at.Child("send"), s.Send)...)
		errs = append(errs, escaped(at.Child("expect"), s.Expect)...)
		if from := s.SendFrom; from != nil {
			in := at.Child("sendFrom")
			errs = append(errs, escaped(in.Child("prefix"), from.Prefix)...)
			errs = append(errs, escaped(in.Child("suffix"), from.Suffix)...)
			errs = append(errs, Reasons(in.Child("secretKeyRef", "name"), from.SecretKeyRef.Name, validation.IsDNS1123Subdomain)...)
			errs = append(errs, Reasons(in.Child("secretKeyRef", "key"), from.SecretKeyRef.Key, validation.IsConfigMapKey)...)
		}
	}
	return errs
}

func escaped(path Path, text string) field.ErrorList {
	if _, err := Unescape(text); err != nil {
		return field.ErrorList{field.Invalid(path.Field(), text, `must have the escapes of a Go string, such as \r\n or \x00; write \\ for a backslash`)}
	}
	return nil
}

// Unescape returns the bytes of a text with the escapes of a Go string. Quotes need none.
func Unescape(text string) ([]byte, error) {
	all := make([]byte, 0, len(text))
	for text != "" {
		if len(text) > 1 && text[0] == '\\' && (text[1] == '"' || text[1] == '\'') {
			all, text = append(all, text[1]), text[2:]
			continue
		}
		r, isMultibyte, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			return nil, err
		}
		if isMultibyte {
			all = utf8.AppendRune(all, r)
		} else {
			all = append(all, byte(r)) // \xff is a byte, and no character
		}
		text = rest
	}
	return all, nil
}

// CheckSecret is a Secret that a check names.
type CheckSecret struct {
	// Path of the field that names it, and Field the part of it to leave out where it may not be read.
	Path  *field.Path
	Field string
	// Name of the Secret. Key is the one that is read; empty for tls.crt and tls.key.
	Name, Key string
	// IsCredential means that its content is presented to the server.
	IsCredential bool
}

// CheckSecrets returns the Secrets that a check names: first those of tls, then those of the steps in their order. The check
// may be nil.
func CheckSecrets(path *field.Path, c *common.Check) []CheckSecret {
	if c == nil {
		return nil
	}
	var all []CheckSecret
	if t := c.TLS; t != nil && t.CASecretName != "" {
		all = append(all, CheckSecret{Path: path.Child("tls", "caSecretName"), Field: "caSecretName", Name: t.CASecretName, Key: CAKey})
	}
	if t := c.TLS; t != nil && t.ClientCertificateSecretName != "" {
		const name = "clientCertificateSecretName"
		all = append(all, CheckSecret{Path: path.Child("tls", name), Field: name, Name: t.ClientCertificateSecretName, IsCredential: true})
	}
	if c.TCPSocket == nil {
		return all
	}
	for i, s := range Within(c.TCPSocket.Steps) {
		if s.SendFrom != nil {
			at, ref := path.Child("tcpSocket", "steps").Index(i).Child("sendFrom", "secretKeyRef"), s.SendFrom.SecretKeyRef
			all = append(all, CheckSecret{Path: at, Field: "sendFrom", Name: ref.Name, Key: ref.Key, IsCredential: true})
		}
	}
	return all
}

// CAKey is the key of the Secret of tls.caSecretName.
const CAKey = "ca.crt"

// PortPath returns the path of the port of a check, or that of a check that has no member.
func PortPath(path Path, c *common.Check) Path {
	switch {
	case c.TCPSocket != nil:
		return path.Child("tcpSocket", "port")
	case c.HTTPGet != nil:
		return path.Child("httpGet", "port")
	case c.GRPC != nil:
		return path.Child("grpc", "port")
	}
	return path
}

// CheckedPort checks that a check has a port. With isNumber, it must be a number: the target has no pod whose container
// could name it.
func CheckedPort(path Path, c *common.Check, isNumber bool) field.ErrorList {
	switch port := c.Port(); {
	case port == nil:
		return field.ErrorList{field.Required(path.Field(), "port is required")}
	case isNumber && port.Type != intstr.Int:
		return field.ErrorList{field.Invalid(path.Field(), port.StrVal, "port must be a number: a name is that of a container's port")}
	}
	return nil
}

// requestPath checks that a path can be in a request line without encoding.
func requestPath(path Path, value *string) field.ErrorList {
	if value == nil {
		return nil
	}
	if _, err := url.ParseRequestURI(*value); err != nil || !printable.MatchString(*value) || strings.Contains(*value, "#") {
		return field.ErrorList{field.Invalid(path.Field(), *value, "must be a path with an optional query, percent-encoded, without a fragment")}
	}
	return nil
}

func authority(path Path, value string) field.ErrorList {
	if value == "" || authorityPattern.MatchString(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Field(), value, "must be a host name or an IP address, with an optional port")}
}

// credentialHeaders are the headers with which a request acts in the name of a user.
var credentialHeaders = []string{"authorization", "cookie"}

// requestHeaders refuses headers that a check cannot send, and credentials for a target outside of the cluster's pods.
// Otherwise, the operator would send requests that act for a user from a place that no NetworkPolicy of the writer
// covers. Their results would reveal the responses.
func requestHeaders(path Path, h *common.HTTPGetAction, outside string) field.ErrorList {
	errs := TooMany(path, len(h.HTTPHeaders))
	for i, header := range Within(h.HTTPHeaders) {
		name, value := path.Index(i).Child("name"), path.Index(i).Child("value")
		if wrong := Reasons(name, header.Name, validation.IsHTTPHeaderName); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		switch {
		case strings.ContainsFunc(header.Value, isControl):
			errs = append(errs, field.Invalid(value.Field(), header.Value, "must not contain control characters"))
		case strings.EqualFold(header.Name, "host") && ptr.Deref(h.HostHeader, "") != "":
			errs = append(errs, field.Invalid(name.Field(), header.Name, "is what httpGet.hostHeader sets: leave one of them out"))
		case strings.EqualFold(header.Name, "host"):
			errs = append(errs, authority(value, header.Value)...)
		case outside != "" && slices.Contains(credentialHeaders, strings.ToLower(header.Name)):
			errs = append(errs, field.Forbidden(name.Field(), "credentials are not sent to "+text.Truncate(outside, maxQuoted)+", which is none of the pods of a target: leave the header out"))
		case !IsSendableHeader(header):
			errs = append(errs, field.Forbidden(name.Field(), "the check sets this header itself, or it is about the connection: leave it out"))
		}
	}
	return errs
}

// IsSendableHeader reports whether the request of a check may have a header. It excludes headers about the connection
// or the end of the message, in which a second request could hide. It also excludes the user agent, and the host, which
// has a field of its own.
func IsSendableHeader(h common.HTTPHeader) bool {
	if len(validation.IsHTTPHeaderName(h.Name)) > 0 || strings.ContainsFunc(h.Value, isControl) {
		return false
	}
	switch name := strings.ToLower(h.Name); name {
	case "host", "user-agent", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
		"content-length", "expect", "http2-settings":
		return false
	default:
		return !strings.HasPrefix(name, "proxy-")
	}
}

// isControl reports whether the value of a header must not contain a character (RFC 9110, section 5.5).
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// CheckWarnings returns what is valid in a check and probably a mistake.
func CheckWarnings(path Path, c *common.Check) []string {
	if c.TLS == nil || !ptr.Deref(c.TLS.InsecureSkipVerify, false) {
		return nil
	}
	texts := []string{path.Child("tls", "insecureSkipVerify").Field().String() + ": the check accepts any certificate"}
	if c.TLS.CASecretName != "" {
		texts = append(texts, path.Child("tls", "caSecretName").Field().String()+": has no effect with insecureSkipVerify")
	}
	return texts
}
