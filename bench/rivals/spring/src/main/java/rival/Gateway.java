package rival;

import cn.dev33.satoken.reactor.context.SaReactorSyncHolder;
import cn.dev33.satoken.reactor.filter.SaReactorFilter;
import cn.dev33.satoken.stp.StpUtil;
import cn.dev33.satoken.util.SaResult;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;

/** Spring Cloud Gateway with Sa-Token and Redis, as both manuals put them together. */
@SpringBootApplication
@RestController
public class Gateway {
  public static void main(String[] args) {
    SpringApplication.run(Gateway.class, args);
  }

  @Bean
  SaReactorFilter sessions() {
    return new SaReactorFilter()
        .addInclude("/api/**")
        .setAuth(unused -> StpUtil.checkLogin())
        .setError(fault -> SaResult.get(401, fault.getMessage(), null));
  }

  /** Gives the upstream the user in the place of the token. */
  @Bean
  GlobalFilter identity() {
    return (exchange, chain) -> {
      String id = loginIdIn(exchange);
      return chain.filter(exchange.mutate().request(request -> request
          .headers(headers -> headers.remove("Authorization"))
          .header("X-Login-Id", id)).build());
    };
  }

  private static String loginIdIn(ServerWebExchange exchange) {
    SaReactorSyncHolder.setContext(exchange);
    try {
      return StpUtil.getLoginIdAsString();
    } finally {
      SaReactorSyncHolder.clearContext();
    }
  }

  /** A session for the bench. */
  @PostMapping("/sessions")
  String begin(@RequestParam String id, ServerWebExchange exchange) {
    SaReactorSyncHolder.setContext(exchange);
    try {
      StpUtil.login(id);
      return StpUtil.getTokenValue();
    } finally {
      SaReactorSyncHolder.clearContext();
    }
  }
}
